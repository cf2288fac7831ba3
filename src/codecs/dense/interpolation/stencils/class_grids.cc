#include "codecs/dense/interpolation/stencils/class_grids.h"

#include <algorithm>
#include <cstring>

#include "codecs/dense/interpolation/stencils/weights.h"

namespace tensorpress::dense {
namespace {

// Whole vectors may be read from the last elements on.
constexpr std::size_t kRoom = 2 * kernels::kRowSlack;

// Elements of a line: before the first and behind the last, as the first two and the last two go.
template <class T>
T continued(T end, T next, std::size_t distance) {
  const T steps = static_cast<T>(distance);
  return (steps + 1) * end - steps * next;
}

}  // namespace

GridLayout::GridLayout(const Lattice& lattice, int level)
    : axes_(axes_of(lattice, level)), n_(lattice.extent[level - 1]) {
  const Extents& m = lattice.extent[level];  // of class 0, the largest
  const auto with_margin = [&](std::size_t axis) {
    return m[axis] + (along(axis) ? kBefore + kBehind : 0);
  };
  const auto before = [&](std::size_t axis) { return along(axis) ? kBefore : 0; };
  pitch_ = with_margin(2);
  plane_ = with_margin(1) * pitch_;
  grid_ = with_margin(0) * plane_;
  origin_ = before(0) * plane_ + before(1) * pitch_ + before(2);
}

std::size_t GridLayout::elements() const {
  return (axes_ + 1) * grid_ + kRoom;
}

Extents GridLayout::extents(AxisBits odd) const {
  Extents result = n_;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool is_odd = (odd >> (2 - axis) & 1) != 0;
    if (along(axis)) result[axis] = is_odd ? n_[axis] / 2 : (n_[axis] + 1) / 2;
  }
  return result;
}

std::ptrdiff_t GridLayout::distance(AxisBits odd, const StencilPoint& point) const {
  const std::array<std::size_t, 3> pitches = {plane_, pitch_, 1};
  AxisBits other = odd;
  std::ptrdiff_t result = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const AxisBits bit = 4u >> axis;
    const int from = (odd & bit) != 0 ? 1 : 0, to = from + point.offset[axis];
    const int parity = to & 1;
    other = parity != 0 ? other | bit : other & ~bit;
    result +=
        static_cast<std::ptrdiff_t>((to - parity) / 2) * static_cast<std::ptrdiff_t>(pitches[axis]);
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

template <class T>
void ClassGrids<T>::extend(AxisBits odd) {
  const Extents n = layout_.extents(odd);
  if (n[0] == 0 || n[1] == 0 || n[2] == 0) return;
  // Lines of `width` elements side by side, `pitch` apart.
  const auto extend_lines = [](T* first, std::size_t lines, std::size_t pitch, std::size_t width) {
    T* const last = first + (lines - 1) * pitch;
    T* const second = lines > 1 ? first + pitch : first;
    T* const before_last = lines > 1 ? last - pitch : last;
    for (std::size_t k = 1; k <= GridLayout::kBefore; ++k) {
      for (std::size_t i = 0; i < width; ++i) {
        *(first + i - k * pitch) = continued(first[i], second[i], k);
      }
    }
    for (std::size_t k = 1; k <= GridLayout::kBehind; ++k) {
      for (std::size_t i = 0; i < width; ++i) {
        *(last + i + k * pitch) = continued(last[i], before_last[i], k);
      }
    }
  };
  const std::size_t before_x = layout_.along(2) ? GridLayout::kBefore : 0;
  const std::size_t before_y = layout_.along(1) ? GridLayout::kBefore : 0;
  const std::size_t margin_x = layout_.along(2) ? GridLayout::kBefore + GridLayout::kBehind : 0;
  const std::size_t margin_y = layout_.along(1) ? GridLayout::kBefore + GridLayout::kBehind : 0;
  for (std::size_t z = 0; z < n[0]; ++z) {
    if (layout_.along(2)) {
      for (std::size_t y = 0; y < n[1]; ++y) extend_lines(row(odd, z, y), n[2], 1, 1);
    }
    if (layout_.along(1)) {
      extend_lines(row(odd, z, 0) - before_x, n[1], layout_.pitch(), n[2] + margin_x);
    }
  }
  if (!layout_.along(0)) return;
  for (std::size_t y = 0; y < n[1] + margin_y; ++y) {
    T* const first = row(odd, 0, 0) - before_y * layout_.pitch() + y * layout_.pitch() - before_x;
    extend_lines(first, n[0], layout_.plane(), n[2] + margin_x);
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
