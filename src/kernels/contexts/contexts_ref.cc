// The scalar truth of contexts.h.
#include <algorithm>
#include <bit>

#include "kernels/contexts/contexts.h"

namespace tensorpress::kernels {
namespace {

std::uint32_t beside(const std::uint16_t* at, std::ptrdiff_t distance) {
  return std::uint32_t{at[-distance]} + at[distance];
}

std::uint8_t class_of(std::uint32_t expectation) {
  if (expectation == 0) return 0;
  const auto octave = static_cast<std::uint32_t>(std::bit_width(expectation)) - 1;
  const std::uint32_t half = octave == 0 ? 0 : (expectation >> (octave - 1)) & 1;
  return static_cast<std::uint8_t>(std::min(2 * octave + half + 1, 31u));
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
    classes[i] = class_of(sum & 65535);
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
