#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stream_copy/stream_copy.cc"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/stream_copy/stream_copy.h"

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void CopyLines(const std::byte* from, std::byte* to, std::size_t count) {
  constexpr std::size_t kLine = 64;
  const std::size_t head =
      std::min(count, (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine);
  std::memcpy(to, from, head);
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t N = hn::Lanes(d);
  const auto* source = reinterpret_cast<const std::uint8_t*>(from);
  auto* target = reinterpret_cast<std::uint8_t*>(to);
  std::size_t i = head;
  for (; i + kLine <= count; i += kLine) {
    for (std::size_t j = 0; j < kLine; j += N)
      hn::Stream(hn::LoadU(d, source + i + j), d, target + i + j);
  }
  std::memcpy(to + i, from + i, count - i);
  hwy::FlushStream();
}

StreamCopy GetStreamCopy() {
  return CopyLines;
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {
namespace {

void copy_plainly(const std::byte* from, std::byte* to, std::size_t count) {
  std::memcpy(to, from, count);
}

}  // namespace

StreamCopy stream_copy(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetStreamCopy(), copy_plainly)
}

}  // namespace tensorpress::kernels
#endif
