#include "model/operators/signs.h"

#include <algorithm>

namespace tensorpress::model {
namespace {

Expression masked(const Site& s, const Expression& x, double slope) {
  Operands all = operands(x, s.signs());
  if (slope != 0) all.emplace_back(slope);
  return function("mask_by_signs_", std::move(all));
}

/// Bits become numbers piece by piece.
std::int64_t masking_scratch(const Site& s, double slope) {
  constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;
  const std::int64_t numbers = std::min(bytes(s.view().output().type, s.sizes()), kPieceBytes);
  return slope == 0 ? numbers : numbers / 4 * 5;  // and which of them are 0
}

}  // namespace

void define_by_signs(Site& s, double slope) {
  const Expression x = s.in();
  s.define_output(0, masked(s, s.may_overwrite() ? x : x.call("clone"), slope),
                  masking_scratch(s, slope));
}

void give_by_signs(Site& s, double slope) {
  const Expression g = s.grad();
  s.give(0, masked(s, s.may_overwrite_grad() ? g : g.call("clone"), slope),
         masking_scratch(s, slope));
}

}  // namespace tensorpress::model
