// Memory that a thread keeps from chunk to chunk. Everything that needs some declares a struct
// whose members are its buffers, and asks for that struct by its type:
//
//   struct Buffers { AlignedBuffer quanta, outliers; };
//   const auto quanta = workspace.memory.of<Buffers>().quanta.reserve_as<std::int32_t>(count);
//
// The buffers of another struct cannot be reached by accident.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tensorpress/aligned_buffer.h"  // what such structs are made of

namespace tensorpress {

class WorkspaceMemory {
 public:
  /// The one Buffers of this workspace, made when first asked for.
  template <class Buffers>
  Buffers& of() {
    for (auto& [type, buffers] : owned_) {
      if (type == &kType<Buffers>) return *static_cast<Buffers*>(buffers.get());
    }
    auto made = std::make_unique_for_overwrite<Buffers>();
    Buffers& buffers = *made;
    owned_.emplace_back(&kType<Buffers>, Owned(made.release(), [](void* old) {
      delete static_cast<Buffers*>(old);
    }));
    return buffers;
  }

 private:
  using Owned = std::unique_ptr<void, void (*)(void*)>;
  // Its address stands for the type.
  template <class Buffers>
  static constexpr char kType = 0;

  std::vector<std::pair<const char*, Owned>> owned_;  // a handful
};

}  // namespace tensorpress
