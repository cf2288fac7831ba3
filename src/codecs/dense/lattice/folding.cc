#include "codecs/dense/lattice/folding.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tensorpress::dense {

Folding fold(const Shape& shape) {
  constexpr std::size_t kShort = 8;
  std::vector<std::size_t> axes;
  for (const std::uint64_t extent : shape.extents()) {
    if (extent > 1) axes.push_back(static_cast<std::size_t>(extent));
  }
  Folding folding;
  std::size_t kept = axes.size();
  while (kept > 0 && axes[kept - 1] < kShort) --kept;
  if (kept == 0) {  // nothing but short axes
    for (const std::size_t axis : axes) folding.extents[2] *= axis;
    return folding;
  }
  for (std::size_t i = kept; i < axes.size(); ++i) folding.components *= axes[i];
  axes.resize(kept);
  if (folding.components > 1) axes.insert(axes.begin(), folding.components);
  folding.extents[2] = axes.back();
  if (axes.size() > 1) folding.extents[1] = axes[axes.size() - 2];
  for (std::size_t i = 0; i + 2 < axes.size(); ++i) folding.extents[0] *= axes[i];
  return folding;
}

template <class T>
void transpose(const T* from, std::size_t rows, std::size_t columns, T* to) {
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) *to++ = from[row * columns + column];
  }
}
template void transpose(const float*, std::size_t, std::size_t, float*);
template void transpose(const double*, std::size_t, std::size_t, double*);

template <class T>
std::span<const T> prepare_values(const bounded::Field<T>& field, const Folding& folding,
                                  ChunkWorkspace& workspace) {
  const std::size_t count = field.values.size();
  if (field.holes.empty() && folding.components == 1) return field.values;
  const auto values = workspace.memory.of<FoldingBuffers>().values.reserve_as<T>(count);
  const std::size_t columns = folding.components, rows = count / columns;
  if (columns == 1) {
    std::copy(field.values.begin(), field.values.end(), values.begin());
  } else {
    transpose(field.values.data(), rows, columns, values.data());
  }
  constexpr T kNothing = std::numeric_limits<T>::quiet_NaN();
  for (const bounded::Hole& hole : field.holes) {
    if (columns == 1) {
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(hole.start), hole.length, kNothing);
      continue;
    }
    for (std::uint64_t i = hole.start; i < hole.start + hole.length; ++i) {
      values[i % columns * rows + i / columns] = kNothing;
    }
  }
  return values;
}
template std::span<const float> prepare_values(const bounded::Field<float>&, const Folding&,
                                               ChunkWorkspace&);
template std::span<const double> prepare_values(const bounded::Field<double>&, const Folding&,
                                                ChunkWorkspace&);

template <class T>
ZeroList zeros_of(const bounded::Field<T>& field, double bound, ChunkWorkspace& workspace) {
  if (!field.has_zeros) return {};
  const Folding folding = fold(field.shape);
  return list_zeros(prepare_values(field, folding, workspace), folding.extents, bound);
}
template ZeroList zeros_of(const bounded::Field<float>&, double, ChunkWorkspace&);
template ZeroList zeros_of(const bounded::Field<double>&, double, ChunkWorkspace&);

}  // namespace tensorpress::dense
