#include "codecs/dense/interpolation/stencils/class_grids.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "codecs/dense/interpolation/stencils/weights.h"

namespace tensorpress::dense {
namespace {

// Whole vectors may be read from the last elements on.
constexpr std::size_t kRoom = 2 * kernels::kRowSlack;
// Elements of a cache line, or of two.
constexpr std::size_t kLine = 16;

template <class T>
T sound(T value) {
  return std::abs(value) <= kernels::InterpolationNumbers<T>::kLargest ? value : static_cast<T>(0);
}

}  // namespace

GridLayout::GridLayout(const Lattice& lattice, int level)
    : axes_(axes_of(lattice, level)), n_(lattice.extent[level - 1]) {
  const Extents& m = lattice.extent[level];  // of class 0, the largest
  const auto with_margin = [&](std::size_t axis) {
    return m[axis] + (along(axis) ? kBefore + kBehind : 0);
  };
  const auto before = [&](std::size_t axis) { return along(axis) ? kBefore : 0; };
  // Rows start at cache lines; the margin before one is behind the one before.
  pitch_ = (with_margin(2) + kLine - 1) / kLine * kLine;
  plane_ = with_margin(1) * pitch_;
  grid_ = with_margin(0) * plane_;
  origin_ = before(0) * plane_ + before(1) * pitch_ + kLine;
}

std::size_t GridLayout::elements() const {
  return (axes_ + 1) * grid_ + kLine + kRoom;
}

Extents GridLayout::extents(AxisBits odd) const {
  Extents result = n_;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (along(axis)) result[axis] = is_odd(odd, axis) ? n_[axis] / 2 : (n_[axis] + 1) / 2;
  }
  return result;
}

AxisBits GridLayout::cut(AxisBits odd) const {
  AxisBits result = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (n_[axis] % 2 == 0) result |= odd & (4u >> axis);
  }
  return result;
}

int GridLayout::columns(AxisBits odd, int steps) {
  const int from = (odd & 1) != 0 ? 1 : 0, to = from + steps;
  return (to - (to & 1)) / 2;
}

std::ptrdiff_t GridLayout::distance(AxisBits odd, const StencilPoint& point) const {
  AxisBits other = odd;
  std::ptrdiff_t result = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const AxisBits bit = 4u >> axis;
    const int from = (odd & bit) != 0 ? 1 : 0, to = from + point.offset[axis];
    const int parity = to & 1;
    other = parity != 0 ? other | bit : other & ~bit;
    result +=
        static_cast<std::ptrdiff_t>((to - parity) / 2) * static_cast<std::ptrdiff_t>(pitch(axis));
  }
  return result + (static_cast<std::ptrdiff_t>(other) - static_cast<std::ptrdiff_t>(odd)) *
                      static_cast<std::ptrdiff_t>(grid_);
}

template <class T>
void ClassGrids<T>::place(const T* coarse) {
  const Extents m = layout_.extents(0);
  for (std::size_t z = 0; z < m[0]; ++z) {
    for (std::size_t y = 0; y < m[1]; ++y, coarse += m[2]) {
      std::memcpy(row(0, z, y), coarse, m[2] * sizeof(T));
    }
  }
}

// Beyond an end of the finer level whose values are known, lines are mirrored through the point of
// the end: v(-k) = 2 v(0) - v(k). That end belongs to the class itself or, on an odd axis, to the
// one that is even there. A far end with an odd coordinate is not known; there v(e + k) = v(e - k).
template <class T>
void ClassGrids<T>::extend_axis(AxisBits odd, std::size_t axis, T* line, std::size_t width) {
  const std::size_t pitch = layout_.pitch(axis), length = layout_.extents(odd)[axis];
  const bool is_odd = layout_.is_odd(odd, axis), known_end = layout_.finer()[axis] % 2 == 1;
  T* const last = line + (length - 1) * pitch;
  const T* const first_point = is_odd ? line - layout_.grids_apart(axis) : line;
  const T* const last_point = is_odd ? last + pitch - layout_.grids_apart(axis) : last;
  const auto inwards = [&](std::size_t steps) { return std::min(steps, length - 1) * pitch; };
  for (std::size_t k = 1; k <= GridLayout::kBefore; ++k) {
    T* const to = line - k * pitch;
    const T* const from = line + inwards(is_odd ? k - 1 : k);
    for (std::size_t i = 0; i < width; ++i) to[i] = sound(2 * first_point[i] - from[i]);
  }
  for (std::size_t k = 1; k <= GridLayout::kBehind; ++k) {
    T* const to = last + k * pitch;
    const T* const from = last - inwards(is_odd == known_end ? k - 1 : k);
    for (std::size_t i = 0; i < width; ++i) {
      to[i] = known_end ? sound(2 * last_point[i] - from[i]) : from[i];
    }
  }
}

template <class T>
void ClassGrids<T>::extend(AxisBits odd) {
  const Extents n = layout_.extents(odd);
  constexpr std::size_t kMargins = GridLayout::kBefore + GridLayout::kBehind;
  const std::size_t before_x = layout_.along(2) ? GridLayout::kBefore : 0;
  const std::size_t before_y = layout_.along(1) ? GridLayout::kBefore : 0;
  const std::size_t width = n[2] + (layout_.along(2) ? kMargins : 0);
  const std::size_t rows = n[1] + (layout_.along(1) ? kMargins : 0);
  for (std::size_t z = 0; z < n[0]; ++z) {
    if (layout_.along(2)) {
      for (std::size_t y = 0; y < n[1]; ++y) extend_axis(odd, 2, row(odd, z, y), 1);
    }
    if (layout_.along(1)) extend_axis(odd, 1, row(odd, z, 0) - before_x, width);
  }
  if (!layout_.along(0)) return;
  T* line = row(odd, 0, 0) - before_y * layout_.pitch(1) - before_x;
  for (std::size_t y = 0; y < rows; ++y, line += layout_.pitch(1)) {
    extend_axis(odd, 0, line, width);
  }
}

template <class T>
void ClassGrids<T>::merge(const kernels::StencilKernels<T>& kernels, T* fine) {
  const Extents& n = layout_.finer();
  for (std::size_t z = 0; z < n[0]; ++z) {
    for (std::size_t y = 0; y < n[1]; ++y, fine += n[2]) {
      AxisBits odd = 0;
      if (layout_.along(0) && z % 2 == 1) odd |= 4;
      if (layout_.along(1) && y % 2 == 1) odd |= 2;
      const std::size_t from_z = layout_.along(0) ? z / 2 : z,
                        from_y = layout_.along(1) ? y / 2 : y;
      const T* const even = row(odd, from_z, from_y);
      if (!layout_.along(2)) {
        std::memcpy(fine, even, n[2] * sizeof(T));
        continue;
      }
      kernels.interleave(even, row(odd | 1, from_z, from_y), n[2] / 2, fine);
      if (n[2] % 2 == 1) fine[n[2] - 1] = even[n[2] / 2];
    }
  }
}

std::size_t grid_elements(const Lattice& lattice) {
  std::size_t most = 0;
  for (int level = 1; level <= lattice.levels; ++level) {
    most = std::max(most, GridLayout(lattice, level).elements());
  }
  return most;
}

template class ClassGrids<float>;
template class ClassGrids<double>;

}  // namespace tensorpress::dense
