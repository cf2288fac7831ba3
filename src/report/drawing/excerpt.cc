#include "report/drawing/excerpt.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tensor/elements.h"
#include "base/tensor/planes.h"
#include "base/text.h"

namespace tensorpress::report {
namespace {

constexpr std::uint64_t kSmallPlane = 64;
constexpr std::uint64_t kMostPlanes = 32;
constexpr std::size_t kPlanesAcross = 8;

std::uint64_t plane_height(const Shape& shape) {
  return shape.rank() < 2 ? 1 : shape[shape.rank() - 2];
}
std::uint64_t plane_width(const Shape& shape) {
  return shape.rank() < 1 ? 1 : shape[shape.rank() - 1];
}
/// Copies the excerpt's window of one plane to its place in `into`.
void copy_window(const TensorView& tensor, std::uint64_t number, const Excerpt& excerpt,
                 std::size_t row, std::size_t column, Plane& into) {
  const std::size_t rank = tensor.shape.rank();
  const std::int64_t row_step = rank < 2 ? 0 : tensor.strides[rank - 2];
  const std::int64_t column_step = rank < 1 ? 0 : tensor.strides[rank - 1];
  const std::byte* plane = tensor.data + plane_offset(tensor.shape, tensor.strides, number);
  for (std::size_t y = 0; y < excerpt.height; ++y) {
    const std::byte* from = plane + static_cast<std::int64_t>(excerpt.top + y) * row_step +
                            static_cast<std::int64_t>(excerpt.left) * column_step;
    float* to = into.values.data() + (row + y) * into.width + column;
    load_elements(tensor.dtype, from, column_step, excerpt.width, to);
  }
}

/// Mean squared difference between neighbours: detail rather than a slope across the window.
double roughness(const Plane& plane) {
  double squares = 0;
  double pairs = 0;
  const auto add = [&](std::size_t a, std::size_t b) {
    const double difference = static_cast<double>(plane.values[a]) - plane.values[b];
    if (!std::isfinite(difference)) return;
    squares += difference * difference;
    ++pairs;
  };
  for (std::size_t y = 0; y < plane.height; ++y) {
    for (std::size_t x = 0; x < plane.width; ++x) {
      const std::size_t at = y * plane.width + x;
      if (x + 1 < plane.width) add(at, at + 1);
      if (y + 1 < plane.height) add(at, at + plane.width);
    }
  }
  return pairs > 0 ? squares / pairs : 0;
}

/// Window positions along an axis: nine at most, from one end to the other.
std::vector<std::size_t> candidates(std::size_t extent, std::size_t window) {
  const std::size_t room = extent - window;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i <= 8; ++i) positions.push_back(room * i / 8);
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace

std::string Excerpt::description(const Shape& shape) const {
  if (planes > 1) return text(planes, " of ", plane_count(shape), " planes");
  const bool many = plane_count(shape) > 1;
  if (height == plane_height(shape) && width == plane_width(shape)) {
    return many ? text("the first of ", plane_count(shape), " planes") : "the whole plane";
  }
  return text("rows ", top, " to ", top + height - 1, ", columns ", left, " to ", left + width - 1,
              many ? text(" of the first of ", plane_count(shape), " planes") : "");
}

Excerpt choose_excerpt(const TensorView& tensor, std::size_t most_height, std::size_t most_width) {
  const std::uint64_t height = plane_height(tensor.shape);
  const std::uint64_t width = plane_width(tensor.shape);
  const std::uint64_t count = plane_count(tensor.shape);
  Excerpt best;
  best.height = std::min<std::uint64_t>(height, most_height);
  best.width = std::min<std::uint64_t>(width, most_width);
  if (tensor.element_count() == 0) return best;
  if (count > 1 && height <= kSmallPlane && width <= kSmallPlane) {
    best.planes = std::min(count, kMostPlanes);
    best.across = std::min<std::size_t>(best.planes, kPlanesAcross);
    best.height = height;
    best.width = width;
    return best;
  }
  double most = -1;
  Excerpt trial = best;
  for (const std::size_t top : candidates(height, best.height)) {
    for (const std::size_t left : candidates(width, best.width)) {
      trial.top = top;
      trial.left = left;
      const double found = roughness(take_excerpt(tensor, trial));
      if (found > most) {
        most = found;
        best = trial;
      }
    }
  }
  return best;
}

Plane take_excerpt(const TensorView& tensor, const Excerpt& excerpt) {
  if (tensor.element_count() == 0) return {};
  const std::size_t down = (excerpt.planes + excerpt.across - 1) / excerpt.across;
  Plane plane;
  plane.height = down * excerpt.height;
  plane.width = excerpt.across * excerpt.width;
  plane.values.assign(plane.height * plane.width, std::numeric_limits<float>::quiet_NaN());
  for (std::uint64_t i = 0; i < excerpt.planes; ++i) {
    copy_window(tensor, i, excerpt, i / excerpt.across * excerpt.height,
                i % excerpt.across * excerpt.width, plane);
  }
  return plane;
}

}  // namespace tensorpress::report
