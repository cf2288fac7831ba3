// Prequantization and the Lorenzo predictor on integers: x -> q = round(x / step) -> d = q minus
// what its neighbours predict, and back. Differences are exact modulo 2^32, so only the last
// multiplication is floating point. Bandwidth-bound in cache, except for the prefix sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace tensorpress::kernels {

/// Which neighbours predict a row. Null pointers: not used. Each points to the neighbours of the
/// row's first value: the row above, the row in the plane behind, and the one above that (set if
/// and only if both others are).
template <class Q>
struct LorenzoRow {
  const Q* above = nullptr;
  const Q* behind = nullptr;
  const Q* corner = nullptr;
  int order = 1;  // along the row: 0 none, 1 the value before, 2 the line through the two before
  Q left = 0;     // what stands before the first value (after subtracting the other neighbours)
};

template <class T>
struct LorenzoQuantizer {
  T inverse = 0;  // of the step
  T step = 0;
  T limit = 0;  // largest accepted |x - q step|
};

template <class T>
struct LorenzoConversions {
  /// Largest |x|.
  T (*max_magnitude)(const T* x, std::size_t count);
  /// q = round(x * inverse), which must be below 2^22 for floats and 2^30 for doubles. Where
  /// q * step is further than `limit` from x, q becomes the q before it (q[-1] must be readable)
  /// and the index, counted from `first`, is appended to `outliers` while they are fewer than
  /// `capacity`. Returns how many there were.
  std::size_t (*quantize)(const T* x, std::size_t count, const LorenzoQuantizer<T>& quantizer,
                          std::int32_t* q, std::uint32_t first, std::uint32_t* outliers,
                          std::size_t capacity);
  /// x = q * step.
  void (*scale)(const std::int32_t* q, T* x, std::size_t count, T step);
};

/// Blocks of 16 or 32 differences are told apart by two features: the sum of |d| in half octaves
/// and the sum of their bit lengths in quarter octaves. Together they are a cell; 0 if all d are 0.
inline constexpr std::size_t kBlockSums = 59;
inline constexpr std::size_t kBlockLengths = 64;
inline constexpr std::size_t kBlockCells = kBlockSums * kBlockLengths;

struct LorenzoKernels {
  LorenzoConversions<float> floats;
  LorenzoConversions<double> doubles;
  /// Differences of one row.
  void (*difference)(const std::int32_t* q, std::int32_t* d, std::size_t count,
                     const LorenzoRow<std::int32_t>& row);
  /// And back, in place.
  void (*integrate)(std::int32_t* d, std::size_t count, const LorenzoRow<std::int32_t>& row);
  /// The cell of each block of 2^log2_block values.
  void (*cells)(const std::int32_t* d, std::size_t blocks, int log2_block, std::uint16_t* result);
};

template <class T>
const LorenzoConversions<T>& conversions_of(const LorenzoKernels& kernels) {
  if constexpr (sizeof(T) == 4) {
    return kernels.floats;
  } else {
    return kernels.doubles;
  }
}

LorenzoKernels lorenzo_kernels(Isa isa);
LorenzoKernels lorenzo_reference();

}  // namespace tensorpress::kernels
