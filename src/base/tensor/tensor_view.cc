#include "tensorpress/tensor_view.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/errors.h"

namespace tensorpress {
namespace {

// Strides of eight-byte elements still fit in 63 bits.
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 59;

}  // namespace

Shape::Shape(std::initializer_list<std::uint64_t> extents) {
  for (const auto extent : extents) {
    if (rank_ < kMaxRank) extents_[rank_++] = extent;
  }
}

Result<Shape> Shape::make(std::span<const std::uint64_t> extents) {
  if (extents.size() > kMaxRank) {
    return bad_argument(extents.size(), " dimensions are too many; the limit is ", kMaxRank);
  }
  Shape shape;
  shape.rank_ = extents.size();
  std::copy(extents.begin(), extents.end(), shape.extents_.begin());
  // An empty tensor may have one absurd extent beside a zero, but its strides must still make
  // sense.
  std::uint64_t product = 1;
  for (const auto extent : extents) {
    const std::uint64_t factor = std::max<std::uint64_t>(extent, 1);
    if (factor > kMaxElements / product) {
      return too_large("the shape ", shape.to_string(), " has more than 2^59 elements");
    }
    product *= factor;
  }
  return shape;
}

Result<Shape> Shape::parse(std::string_view text) {
  std::array<std::uint64_t, kMaxRank + 1> extents{};
  std::size_t rank = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    if (rank > 0 && *at != 'x' && *at != ',') break;
    if (rank > 0) ++at;
    if (rank == extents.size()) break;
    const auto [next, error] = std::from_chars(at, end, extents[rank]);
    if (error == std::errc::result_out_of_range) {
      return bad_argument("the shape '", text, "' has an extent beyond 64 bits");
    }
    if (error != std::errc{}) {
      return bad_argument("'", text, "' is not a shape; write the extents as in 20x180x360");
    }
    ++rank;
    at = next;
  }
  if (at != end && rank <= kMaxRank) {
    return bad_argument("'", text, "' is not a shape; write the extents as in 20x180x360");
  }
  return make(std::span(extents).first(rank));
}

std::uint64_t Shape::element_count() const {
  std::uint64_t count = 1;
  for (const auto extent : extents()) count *= extent;
  return count;
}

std::string Shape::to_string() const {
  if (rank_ == 0) return "scalar";
  std::string out;
  for (std::size_t axis = 0; axis < rank_; ++axis) {
    if (axis > 0) out += 'x';
    append_text(out, extents_[axis]);
  }
  return out;
}

Strides contiguous_strides(const Shape& shape, std::size_t element_bytes) {
  Strides strides{};
  auto step = static_cast<std::int64_t>(element_bytes);
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    strides[axis] = step;
    step *= static_cast<std::int64_t>(std::max<std::uint64_t>(shape[axis], 1));
  }
  return strides;
}

Result<void> check_element_count(std::uint64_t count, const Shape& shape) {
  if (count == shape.element_count()) return {};
  return bad_argument("the shape ", shape.to_string(), " has ", shape.element_count(),
                      " elements, and the range that it was given for has ", count);
}

template <class Pointer>
bool BasicTensorView<Pointer>::is_contiguous() const {
  const Strides expected = contiguous_strides(shape, size_of(dtype));
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1 && strides[axis] != expected[axis]) return element_count() == 0;
  }
  return true;
}

template <class Pointer>
BasicTensorView<Pointer> BasicTensorView<Pointer>::part(const Region& region) const {
  BasicTensorView result = *this;
  result.shape = region.extent;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    result.data += static_cast<std::int64_t>(region.origin[axis]) * strides[axis];
  }
  return result;
}

template struct BasicTensorView<const std::byte*>;
template struct BasicTensorView<std::byte*>;

namespace {

// Copies along `axis` and all faster ones. `run_axis` is the first axis from which both sides are
// contiguous.
void copy_axis(const TensorView& from, const MutableTensorView& to, std::size_t axis,
               std::size_t run_axis, std::size_t run_bytes, const std::byte* source,
               std::byte* target) {
  if (axis == run_axis) {
    std::memcpy(target, source, run_bytes);
    return;
  }
  for (std::uint64_t i = 0; i < from.shape[axis]; ++i) {
    copy_axis(from, to, axis + 1, run_axis, run_bytes, source, target);
    source += from.strides[axis];
    target += to.strides[axis];
  }
}

}  // namespace

void copy_elements(const TensorView& from, const MutableTensorView& to) {
  if (from.element_count() == 0) return;
  const std::size_t element = size_of(from.dtype);
  std::size_t run_axis = from.shape.rank();
  std::size_t run_bytes = element;
  while (run_axis > 0) {
    const std::size_t axis = run_axis - 1;
    const bool dense = from.strides[axis] == static_cast<std::int64_t>(run_bytes) &&
                       to.strides[axis] == static_cast<std::int64_t>(run_bytes);
    if (!dense && from.shape[axis] != 1) break;
    run_bytes *= from.shape[axis];
    run_axis = axis;
  }
  copy_axis(from, to, 0, run_axis, run_bytes, from.data, to.data);
}

}  // namespace tensorpress
