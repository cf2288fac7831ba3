// Uninitialized memory aligned to 64 bytes, reused between calls: it grows and never shrinks. In a
// library that was built with AddressSanitizer, what lies behind the bytes that were asked for last
// is out of bounds.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tensorpress/api.h"

namespace tensorpress {

class TENSORPRESS_API AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t bytes) { reserve(bytes); }

  std::size_t size() const { return size_; }
  std::byte* data() { return memory_.get(); }

  /// At least `bytes` bytes; earlier contents are lost when it has to grow.
  std::span<std::byte> reserve(std::size_t bytes);
  template <class T>
  std::span<T> reserve_as(std::size_t count) {
    return {reinterpret_cast<T*>(reserve(count * sizeof(T)).data()), count};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace tensorpress
