#include "codecs/dense/lattice/lattice.h"

#include <algorithm>
#include <bit>

namespace tensorpress::dense {

Lattice::Lattice(const Extents& chunk, const std::array<bool, 3>& axes, std::uint8_t level_limit)
    : along(axes) {
  std::size_t longest = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (along[axis]) longest = std::max(longest, chunk[axis]);
  }
  levels = std::min(static_cast<int>(std::bit_width(longest - 1)), kLevelLimits[level_limit]);
  for (int level = 0; level <= levels; ++level) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t step = std::size_t{1} << level;
      extent[level][axis] = along[axis] ? (chunk[axis] + step - 1) / step : chunk[axis];
    }
  }
}

bool valid_axes(const std::array<bool, 3>& along, const Extents& extents) {
  bool any = false, any_long = false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (along[axis] && extents[axis] == 1) return false;
    any = any || along[axis];
    any_long = any_long || extents[axis] > 1;
  }
  return any == any_long;
}

template <class T>
void take_coarser(const Lattice& lattice, int level, const T* finer, T* to) {
  const Extents &n = lattice.extent[level - 1], &m = lattice.extent[level];
  for (std::size_t z = 0; z < m[0]; ++z) {
    for (std::size_t y = 0; y < m[1]; ++y, to += m[2]) {
      const T* from =
          finer + ((lattice.along[0] ? 2 * z : z) * n[1] + (lattice.along[1] ? 2 * y : y)) * n[2];
      if (lattice.along[2]) {
        for (std::size_t x = 0; x < m[2]; ++x) to[x] = from[2 * x];
      } else {
        std::copy_n(from, m[2], to);
      }
    }
  }
}
template void take_coarser(const Lattice&, int, const float*, float*);
template void take_coarser(const Lattice&, int, const double*, double*);

}  // namespace tensorpress::dense
