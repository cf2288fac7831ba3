#include "codecs/dct_chop/nonfinite.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/errors.h"
#include "base/tensor/elements.h"

namespace tensorpress::dct_chop {
namespace {

// "[2, 0, 17]": where an element of the chunk lies in the tensor.
std::string position_in_tensor(const TensorView& chunk, std::uint64_t row, std::uint64_t column,
                               const ChunkWorkspace& workspace) {
  std::array<std::uint64_t, kMaxRank> index{};
  const std::size_t rank = chunk.shape.rank();
  if (rank > 0) index[rank - 1] = column;
  for (std::size_t axis = rank; axis-- > 1;) {
    index[axis - 1] = row % chunk.shape[axis - 1];
    row /= chunk.shape[axis - 1];
  }
  std::string position;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    position += text(axis == 0 ? "" : ", ", workspace.origin[axis] + index[axis]);
  }
  return text("[", position, "]");
}

}  // namespace

std::optional<Error> find_nonfinite(const TensorView& chunk, const ChunkWorkspace& workspace) {
  if (!is_floating(chunk.dtype) || chunk.element_count() == 0) return std::nullopt;
  const std::size_t rank = chunk.shape.rank();
  const std::uint64_t row_length = rank == 0 ? 1 : chunk.shape[rank - 1];
  const std::int64_t stride = rank == 0 ? 0 : chunk.strides[rank - 1];
  for (std::uint64_t row = 0; row < chunk.element_count() / row_length; ++row) {
    const std::byte* at = chunk.data;
    std::uint64_t rest = row;
    for (std::size_t axis = rank; axis-- > 1;) {
      at += static_cast<std::int64_t>(rest % chunk.shape[axis - 1]) * chunk.strides[axis - 1];
      rest /= chunk.shape[axis - 1];
    }
    for (std::uint64_t start = 0; start < row_length; start += 256) {
      std::array<double, 256> values{};
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(256, row_length - start));
      load_elements(chunk.dtype, at + static_cast<std::int64_t>(start) * stride, stride, count,
                    values.data());
      double marker = 0;  // stays zero as long as all are finite
      for (const double value : values) marker += value * 0.0;
      if (marker == 0.0) continue;
      const auto bad =
          std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
      const char* const name = std::isnan(*bad) ? "NaN" : *bad > 0 ? "infinity" : "-infinity";
      const auto column = start + static_cast<std::uint64_t>(bad - values.begin());
      return bad_argument(
          "the element at ", position_in_tensor(chunk, row, column, workspace), " is ", name,
          ", which dct-chop cannot store: it would spoil its whole block. Replace non-finite "
          "values first");
    }
  }
  return std::nullopt;
}

}  // namespace tensorpress::dct_chop
