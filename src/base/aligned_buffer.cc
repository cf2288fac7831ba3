#include "tensorpress/aligned_buffer.h"

#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef __linux__
#  include <sys/mman.h>
#endif

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
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Where the system gives huge pages to those who ask, large buffers take a page fault for 2 MiB
// instead of 4 KiB, and columns of a chunk are found without walking page tables. A refusal does no
// harm.
std::byte* allocated(std::size_t bytes) {
  const bool large = bytes >= kHugePage;
  const std::size_t alignment = large ? kHugePage : AlignedBuffer::kAlignment;
  if (bytes > SIZE_MAX - alignment) throw std::bad_alloc();
  // A multiple of the alignment, as the standard asks for; pages that are not touched cost nothing.
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(alignment, whole));
  if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (large) static_cast<void>(madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
#endif
  return memory;
}

}  // namespace

std::span<std::byte> AlignedBuffer::reserve(std::size_t bytes) {
  if (bytes > size_) {
    memory_.reset();
    size_ = 0;  // also if there is no memory
    memory_.reset(allocated(bytes));
    size_ = bytes;
  }
  ASAN_UNPOISON_MEMORY_REGION(memory_.get(), bytes);
  ASAN_POISON_MEMORY_REGION(memory_.get() + bytes, size_ - bytes);
  return {memory_.get(), bytes};
}

void AlignedBuffer::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

}  // namespace tensorpress
