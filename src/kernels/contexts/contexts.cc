// contexts.h once for every vector width: 27 loads and 9 multiplications for 8, 16 or 32 values.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/contexts/contexts.cc"
#include "kernels/contexts/contexts.h"
#include "kernels/highway_targets.h"
// (keep the order)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<std::uint16_t>;
using Vector = hn::Vec<Tag>;

HWY_INLINE Vector Beside(Tag d, const std::uint16_t* at, std::size_t distance) {
  return hn::Add(hn::LoadU(d, at - distance), hn::LoadU(d, at + distance));
}

// Half octaves are the exponent and the first bit of the mantissa of a float.
template <class V32>
HWY_INLINE auto HalfOctaves(V32 expectation) {
  const hn::RebindToSigned<hn::DFromV<V32>> di;
  const hn::RebindToFloat<hn::DFromV<V32>> df;
  const auto number = hn::ConvertTo(df, hn::BitCast(di, expectation));
  const auto octaves = hn::Sub(hn::ShiftRight<22>(hn::BitCast(di, number)), hn::Set(di, 253));
  return hn::Min(hn::Max(octaves, hn::Zero(di)), hn::Set(di, 31));
}

HWY_INLINE void StoreClasses(Tag d, Vector expectation, std::uint8_t* classes) {
  const hn::Half<Tag> half;
  const hn::RepartitionToWide<Tag> wide;
  const hn::Rebind<std::uint8_t, hn::RebindToSigned<decltype(wide)>> narrow;
  const std::size_t lanes = hn::Lanes(wide);
  const auto low = HalfOctaves(hn::PromoteTo(wide, hn::LowerHalf(half, expectation)));
  const auto high = HalfOctaves(hn::PromoteTo(wide, hn::UpperHalf(half, expectation)));
  hn::StoreU(hn::DemoteTo(narrow, low), narrow, classes);
  hn::StoreU(hn::DemoteTo(narrow, high), narrow, classes + lanes);
  (void)d;
}

void Classify(const ContextRows& rows, const ContextWeights& weights, std::size_t count,
              std::uint8_t* classes) {
  const Tag d;
  const std::size_t N = hn::Lanes(d);
  const auto times = [d](std::uint16_t weight, Vector sum)
                         HWY_ATTR { return hn::Mul(hn::Set(d, weight), sum); };
  for (std::size_t i = 0; i < count; i += N) {
    const std::uint16_t *above = rows.above + i, *behind = rows.behind + i,
                        *up = rows.behind_up + i, *down = rows.behind_down + i,
                        *sibling = rows.sibling + i;
    auto sum = hn::Add(hn::Set(d, weights.floor), hn::LoadU(d, rows.parent + i));
    sum = hn::Add(sum, times(weights.above, hn::LoadU(d, above)));
    sum = hn::Add(sum, times(weights.above_side, Beside(d, above, 1)));
    sum = hn::Add(sum, times(weights.behind, hn::LoadU(d, behind)));
    sum = hn::Add(sum, times(weights.ring, hn::Add(Beside(d, behind, 1),
                                                   hn::Add(hn::LoadU(d, up), hn::LoadU(d, down)))));
    const auto far = hn::Add(hn::Add(hn::LoadU(d, rows.above2 + i), hn::LoadU(d, rows.behind2 + i)),
                             hn::Add(Beside(d, above, 2), Beside(d, behind, 2)));
    const auto corners = hn::Add(Beside(d, up, 1), Beside(d, down, 1));
    sum = hn::Add(sum, times(weights.wide, hn::Add(far, corners)));
    sum = hn::Add(sum, times(weights.sibling, hn::LoadU(d, sibling)));
    const auto around =
        hn::Add(hn::Add(hn::LoadU(d, rows.sibling_up + i), hn::LoadU(d, rows.sibling_down + i)),
                hn::Add(hn::LoadU(d, rows.sibling_front + i), hn::LoadU(d, rows.sibling_back + i)));
    sum = hn::Add(sum, times(weights.sibling_ring, hn::Add(Beside(d, sibling, 1), around)));
    StoreClasses(d, sum, classes + i);
  }
}

void WeighParent(const ParentRows& rows, const ContextWeights& weights, std::size_t count,
                 bool doubled, std::uint16_t* parent) {
  const Tag d;
  const std::size_t N = hn::Lanes(d), parents = doubled ? (count + 1) / 2 : count;
  const auto middle_weight = hn::Set(d, weights.parent);
  const auto ring_weight = hn::Set(d, weights.parent_ring);
  for (std::size_t i = 0; i < parents; i += N) {
    const auto ring =
        hn::Add(Beside(d, rows.middle + i, 1),
                hn::Add(hn::Add(hn::LoadU(d, rows.up + i), hn::LoadU(d, rows.down + i)),
                        hn::Add(hn::LoadU(d, rows.front + i), hn::LoadU(d, rows.back + i))));
    const auto sum =
        hn::Add(hn::Mul(middle_weight, hn::LoadU(d, rows.middle + i)), hn::Mul(ring_weight, ring));
    if (doubled) {
      hn::StoreInterleaved2(sum, sum, d, parent + 2 * i);
    } else {
      hn::StoreU(sum, d, parent + i);
    }
  }
}

ContextKernels GetContextKernels() {
  return {Classify, WeighParent};
}

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#  include "kernels/dispatch.h"

namespace tensorpress::kernels {

ContextKernels context_kernels(Isa isa) {
  TENSORPRESS_DISPATCH(isa, GetContextKernels(), context_kernels_reference())
}

}  // namespace tensorpress::kernels
#endif
