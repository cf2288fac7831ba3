// Memory that outlives a call comes from the caller's allocator, or from malloc.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "c_api/border.h"

namespace tensorpress::c_api {

/// Both functions or neither.
inline Result<void> check(const tensorpress_allocator& allocator) {
  if ((allocator.allocate == nullptr) == (allocator.release == nullptr)) return {};
  return bad_argument("an allocator needs both allocate and release, or neither (malloc and free)");
}

// NOLINTBEGIN(cppcoreguidelines-no-malloc): C callers know malloc and free.
inline void* allocate(const tensorpress_allocator& allocator, std::size_t bytes) {
  void* const memory = allocator.allocate != nullptr ? allocator.allocate(allocator.opaque, bytes)
                                                     : std::malloc(bytes);
  if (memory == nullptr) throw AllocatorFailed{bytes};
  return memory;
}

inline void release(const tensorpress_allocator& allocator, void* memory) {
  if (memory == nullptr) return;
  if (allocator.release != nullptr) {
    allocator.release(allocator.opaque, memory);
  } else {
    std::free(memory);
  }
}
// NOLINTEND(cppcoreguidelines-no-malloc)

/// Bytes from an allocator, given back unless take() hands them over.
class OwnedBytes {
 public:
  OwnedBytes(const tensorpress_allocator& allocator, std::size_t bytes)
      : allocator_(allocator), memory_(allocate(allocator, bytes)) {}
  ~OwnedBytes() { release(allocator_, memory_); }
  OwnedBytes(const OwnedBytes&) = delete;
  OwnedBytes& operator=(const OwnedBytes&) = delete;

  void* get() const { return memory_; }
  void* take() { return std::exchange(memory_, nullptr); }

 private:
  tensorpress_allocator allocator_;
  void* memory_;
};

/// A context in memory of its own allocator, which it must hold as `allocator`.
template <class Context, class... Arguments>
Context* create(const tensorpress_allocator& allocator, Arguments&&... arguments) {
  OwnedBytes memory(allocator, sizeof(Context));
  auto* const context = ::new (memory.get()) Context{std::forward<Arguments>(arguments)...};
  memory.take();
  return context;
}

template <class Context>
void destroy(Context* context) {
  if (context == nullptr) return;
  const tensorpress_allocator allocator = context->allocator;
  std::destroy_at(context);
  release(allocator, context);
}

}  // namespace tensorpress::c_api
