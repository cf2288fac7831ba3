// The scalar truth of contexts.h.
#include "kernels/contexts/contexts.h"

namespace tensorpress::kernels {
namespace {

std::uint32_t beside(const std::uint16_t* at, std::ptrdiff_t distance) {
  return std::uint32_t{at[-distance]} + at[distance];
}

void classify(const ContextRows& rows, const ContextWeights& weights, std::size_t count,
              std::uint8_t* classes) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t *above = rows.above + i, *behind = rows.behind + i,
                        *up = rows.behind_up + i, *down = rows.behind_down + i,
                        *sibling = rows.sibling + i;
    std::uint32_t sum = weights.floor;
    sum += std::uint32_t{weights.above} * above[0] + weights.above_side * beside(above, 1);
    sum += std::uint32_t{weights.behind} * behind[0];
    sum += weights.ring * (beside(behind, 1) + up[0] + down[0]);
    sum += weights.wide * (rows.above2[i] + rows.behind2[i] + beside(above, 2) + beside(behind, 2) +
                           beside(up, 1) + beside(down, 1));
    sum += rows.parent[i];
    sum += std::uint32_t{weights.sibling} * sibling[0];
    sum += weights.sibling_ring * (beside(sibling, 1) + rows.sibling_up[i] + rows.sibling_down[i] +
                                   rows.sibling_front[i] + rows.sibling_back[i]);
    classes[i] = context_class_of(sum & 65535);
  }
}

void weigh_parent(const ParentRows& rows, const ContextWeights& weights, std::size_t count,
                  bool doubled, std::uint16_t* parent) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = doubled ? i / 2 : i;
    parent[i] = static_cast<std::uint16_t>(std::uint32_t{weights.parent} * rows.middle[at] +
                                           weights.parent_ring *
                                               (beside(rows.middle + at, 1) + rows.up[at] +
                                                rows.down[at] + rows.front[at] + rows.back[at]));
  }
}

}  // namespace

ContextKernels context_kernels_reference() {
  return {classify, weigh_parent};
}

}  // namespace tensorpress::kernels
