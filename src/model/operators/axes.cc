#include "model/operators/axes.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::model {

Result<std::size_t> axis_of(std::int64_t axis, const TensorType& x, std::size_t more) {
  const auto rank = static_cast<std::int64_t>(x.shape.size() + more);
  if (axis < -rank || axis >= rank) {
    return bad_argument("there is no axis ", axis, " in ", to_text(x));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::size_t front_axis(std::int64_t axis, const TensorType& x, std::size_t more) {
  const auto rank = static_cast<std::int64_t>(x.shape.size() + more);
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

Result<Shape> broadcast(const TensorType& a, const TensorType& b) {
  Shape shape(std::max(a.shape.size(), b.shape.size()), dim(1));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim first = i < a.shape.size() ? a.shape[a.shape.size() - 1 - i] : dim(1);
    const Dim second = i < b.shape.size() ? b.shape[b.shape.size() - 1 - i] : dim(1);
    if (first != second && first != dim(1) && second != dim(1)) {
      return bad_argument(to_text(a), " and ", to_text(b), " do not fit together");
    }
    shape[shape.size() - 1 - i] = first == dim(1) ? second : first;
  }
  return shape;
}

void give_summed(Site& s, std::size_t i, const Expression& value, std::int64_t scratch) {
  if (!s.wants(i)) return;
  const Shape& shape = s.view().input(i).type.shape;
  if (shape == s.view().output().type.shape) {
    s.give(i, value, scratch);
    return;
  }
  const bool made = value.name() == nullptr;  // not the gradient itself
  s.give(i, grouped(value).call("sum_to_size", shape),
         scratch + (made ? bytes(s.view().output().type, s.sizes()) : 0));
}

}  // namespace tensorpress::model
