// Fresh memory costs a page fault for every 4 KiB that is written, which is more than some codecs
// take; huge pages make that a few. Memory that is not written to takes no page either way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#ifdef __linux__
#  include <sys/mman.h>
#endif

namespace tensorpress::python {

inline void prefer_huge_pages([[maybe_unused]] std::span<std::byte> memory) {
#ifdef __linux__
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::size_t kRarelyFresh = std::size_t{4} << 20;  // what is smaller
  if (memory.size() < kRarelyFresh) return;
  const std::uintptr_t before_page = (0 - reinterpret_cast<std::uintptr_t>(memory.data())) % kPage;
  const std::size_t whole_pages = (memory.size() - before_page) / kPage * kPage;
  // Advice: it does not matter if the system declines.
  madvise(memory.data() + before_page, whole_pages, MADV_HUGEPAGE);
#endif
}

}  // namespace tensorpress::python
