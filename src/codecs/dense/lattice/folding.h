// A chunk of any rank as planes, rows and columns.
#pragma once

#include <cstddef>
#include <span>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/lattice/exact.h"
#include "codecs/dense/lattice/lattice.h"

namespace tensorpress::dense {

/// Leading axes are merged into planes; trailing axes shorter than 8 would make short rows, so
/// these become planes too (values are transposed).
struct Folding {
  Extents extents{1, 1, 1};
  std::size_t components = 1;  // values [i][component] become [component][i]
};
Folding fold(const Shape& shape);
template <class T>
void transpose(const T* from, std::size_t rows, std::size_t columns, T* to);

struct FoldingBuffers {
  AlignedBuffer values;  // folded, holes marked
};
/// The field's values folded, with NaN in its holes: its own memory where nothing has to change.
template <class T>
std::span<const T> prepare_values(const bounded::Field<T>& field, const Folding& folding,
                                  ChunkWorkspace& workspace);
/// The zeros of a field that must come back as such, in the order of its folded values.
template <class T>
ZeroList zeros_of(const bounded::Field<T>& field, double bound, ChunkWorkspace& workspace);

}  // namespace tensorpress::dense
