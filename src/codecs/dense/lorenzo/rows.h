// How a chunk of any rank becomes rows, and which neighbours predict each row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/lorenzo/lorenzo.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::dense {

/// Planes, rows and values a row. Axes of length 1 are dropped, and all leading axes but the last
/// three merged into z: a plane is then predicted from the one before it in memory.
struct Fold {
  std::size_t nz = 1;
  std::size_t ny = 1;
  std::size_t nx = 1;

  std::size_t rows() const { return nz * ny; }
  std::size_t count() const { return nz * ny * nx; }
};

inline Fold fold_of(const Shape& shape) {
  std::size_t extents[3] = {1, 1, 1};  // x, y, z
  std::size_t used = 0;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    if (shape[axis] == 1) continue;
    extents[used < 3 ? used : 2] *= static_cast<std::size_t>(shape[axis]);
    ++used;
  }
  return {extents[2], extents[1], extents[0]};
}

struct LorenzoAxes {
  int x_order = 1;
  bool y = false;
  bool z = false;
};

/// The neighbours of row `row`; `q` points to its first value inside the chunk's quanta. The first
/// plane has nothing behind it and is predicted from above, the first row from its left; without
/// z, the first row of a plane takes the first row of the plane before for the one above.
template <class Q>
kernels::LorenzoRow<Q> neighbours(const Fold& fold, const LorenzoAxes& axes, std::size_t row,
                                  const Q* q) {
  const std::size_t z = row / fold.ny;
  const std::size_t y = row % fold.ny;
  kernels::LorenzoRow<Q> result;
  if (axes.z && z > 0) result.behind = q - fold.ny * fold.nx;
  if (y > 0 && (axes.y || (axes.z && z == 0))) result.above = q - fold.nx;
  if (y == 0 && z > 0 && axes.y && !axes.z) result.above = q - fold.ny * fold.nx;
  if (result.above != nullptr && result.behind != nullptr) result.corner = result.behind - fold.nx;
  const bool alone = result.above == nullptr && result.behind == nullptr;
  result.order = axes.x_order == 0 && alone ? 1 : axes.x_order;
  // A row without neighbours begins where the one before it began.
  if (alone && row > 0) result.left = *(q - fold.nx);
  return result;
}

/// Values of one row's differences at most as far as a strip: what is worked on while in cache.
inline constexpr std::size_t kStripValues = 16384;

}  // namespace tensorpress::dense
