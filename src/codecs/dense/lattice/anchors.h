// The values of the coarsest level: multiples of the step, as varints.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/bytes.h"
#include "codecs/dense/lattice/exact.h"
#include "codecs/dense/lattice/lattice.h"

namespace tensorpress::dense {

/// Appends to `anchors`, fills `to` with what a decoder will have. A NaN takes the value before it,
/// at the start `first_value`; values that are not within the bound become outliers.
template <class T>
void code_anchors(const Lattice& lattice, T step, T bound, const T* originals, T first_value, T* to,
                  std::vector<std::byte>& anchors, std::vector<Outlier<T>>& outliers);
template <class T>
Result<void> read_anchors(ByteReader& reader, const Lattice& lattice, T step, T* to);
/// The same numbers from elsewhere.
template <class T>
Result<void> read_anchors(const std::function<Result<std::uint64_t>()>& next,
                          const Lattice& lattice, T step, T* to);

}  // namespace tensorpress::dense
