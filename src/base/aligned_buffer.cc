#include "tensorpress/aligned_buffer.h"

#include <new>

#if defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define TENSORPRESS_HAS_ADDRESS_SANITIZER
#  endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(TENSORPRESS_HAS_ADDRESS_SANITIZER)
#  include <sanitizer/asan_interface.h>
#else
#  define ASAN_POISON_MEMORY_REGION(address, size) static_cast<void>(0)
#  define ASAN_UNPOISON_MEMORY_REGION(address, size) static_cast<void>(0)
#endif

namespace tensorpress {

std::span<std::byte> AlignedBuffer::reserve(std::size_t bytes) {
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

void AlignedBuffer::Free::operator()(std::byte* memory) const {
  ::operator delete(memory, std::align_val_t{kAlignment});
}

}  // namespace tensorpress
