// Uninitialized memory aligned to 64 bytes, reused between calls: it grows and never shrinks. Under
// AddressSanitizer what lies behind the bytes that were asked for last is out of bounds.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#if defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define TENSORPRESS_ADDRESS_SANITIZER
#  endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(TENSORPRESS_ADDRESS_SANITIZER)
#  include <sanitizer/asan_interface.h>
#else
#  define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(0)
#  define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(0)
#endif

namespace tensorpress {

class AlignedBuffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t bytes) { reserve(bytes); }

  std::size_t size() const { return size_; }
  std::byte* data() { return memory_.get(); }

  /// At least `bytes` bytes; earlier contents are lost when it has to grow.
  std::span<std::byte> reserve(std::size_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      size_ = 0;  // also if there is no memory
      memory_.reset(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{kAlignment})));
      size_ = bytes;
    }
    ASAN_UNPOISON_MEMORY_REGION(memory_.get(), bytes);
    ASAN_POISON_MEMORY_REGION(memory_.get() + bytes, size_ - bytes);
    return {memory_.get(), bytes};
  }
  template <class T>
  std::span<T> reserve_as(std::size_t count) {
    return {reinterpret_cast<T*>(reserve(count * sizeof(T)).data()), count};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete(memory, std::align_val_t{kAlignment});
    }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace tensorpress
