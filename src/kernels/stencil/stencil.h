// Rows of the stencils of codec `dense`: a value is predicted by a weighted sum over values already
// reconstructed around it, in all directions.
//
// The values of a level are kept in one grid a parity class, all with the same pitches, so that a
// neighbour is a constant distance away in memory. Points that are mirror images of each other
// share a weight; they come in opposite pairs:
//
//   s = sum over the pairs of a group of (first + second)
//   p = sum over the groups of weight * s           near = sum of s over the first `axes` groups
//   scale = floor + curvature |p - near_share * near| + above * A + behind * B + beside * C
//           A, B: running means of |residual| one row / one plane earlier, weights 1 2 1 along x
//           C: sum of |residual|, at most 255 each, of neighbours in classes coded before
//
// Prediction and class follow from p and scale as in interpolation.h. Multiplications and additions
// are rounded one by one in exactly this order: the same bits for every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/interpolation/interpolation.h"

namespace tensorpress::kernels {

/// A group of 2, 4 or 8 points that share a weight.
template <class T>
struct StencilGroup {
  T weight = 0;
  std::uint32_t points = 0;
  /// Points are mirrored on all axes, in this order of signs along z, y and x, as far as they have
  /// a distance there: - - -, + + +, - - +, + + -, - + -, + - +, - + +, + - -.
  bool mirrored = false;
  std::uint32_t rows_apart = 0;      // of points below and above, at most kMostRowsApart
  std::int32_t left = 0, right = 0;  // where points lie along x, in elements: -2 to 2
  /// Not 0: a group further on has the same points but one row further below and above; that group
  /// has the same number as `narrower`. Kernels may sum up both at once.
  std::uint32_t wider = 0, narrower = 0;
};
inline constexpr std::uint32_t kMostRowsApart = 3;
inline constexpr std::uint32_t kMostWiderGroups = 24;

template <class T>
struct StencilRow {
  const T* at = nullptr;  // where the row itself will stand
  const StencilGroup<T>* groups = nullptr;
  std::size_t group_count = 0;
  const std::ptrdiff_t* points = nullptr;  // of all groups, relative to `at`
  std::size_t axes = 1;                    // groups of nearest neighbours come first
  T near_share = 0;                        // 1 / (2 axes)
  /// Sizes of residuals, in a grid of the same pitches.
  std::uint8_t* sizes = nullptr;
  const std::ptrdiff_t* beside = nullptr;  // relative to `sizes`
  std::size_t beside_count = 0;
  T beside_weight = 0;
};

/// Rows of the same class and plane, one below the other, that are predicted together.
template <class T>
struct StencilRows {
  std::size_t rows = 1;
  std::size_t count = 0;     // of each
  std::ptrdiff_t pitch = 0;  // of the grid
  T* sums = nullptr;         // p
  T* bends = nullptr;        // |p - near_share * near|
  std::size_t result_pitch = 0;
};

/// Products are summed up in so many lanes, whatever the width of a vector.
inline constexpr std::size_t kProductLanes = 16;

inline constexpr std::size_t kSamplePiece = 64;
/// In steps. Outliers and the like say nothing about the rest.
inline constexpr float kMostFeature = 0x1p20f;

template <class T>
struct StencilSamples {
  const T* sums = nullptr;  // as `StencilKernels::sums` gives them, kSamplePiece of each group
  std::size_t pitch = 0;    // of sums
  const StencilGroup<T>* groups = nullptr;
  std::size_t group_count = 0;
  const T* originals = nullptr;
  std::size_t step = 1;  // from one original to the next
  std::size_t count = 0;
  T inverse_step = 1;  // of quantization
};

template <class T>
struct StencilKernels {
  /// p and bends of rows, the first of which is `stencil`'s.
  void (*predict)(const StencilRow<T>& stencil, const StencilRows<T>& rows);
  /// Fills predictions and classes of one of these rows. `row` gives count and histories; there is
  /// no feedback.
  void (*classify)(const StencilRow<T>& stencil, const InterpolationRow<T>& row,
                   const InterpolationModel<T>& model, const T* sums, const T* bends,
                   T* predictions, std::uint8_t* classes);
  /// s of every group for `count` values: sums[g * pitch + i]. For fitting weights.
  void (*sums)(const StencilRow<T>& stencil, std::size_t count, std::size_t pitch, T* sums);
  /// sizes[i] = |residual|, at most 255. Writes nothing behind `count`.
  void (*keep_sizes)(const std::int32_t* residuals, std::size_t count, std::uint8_t* sizes);
  /// to[2 i] = even[i], to[2 i + 1] = odd[i], for `count` pairs. Writes nothing behind.
  void (*interleave)(const T* even, const T* odd, std::size_t count, T* to);
  /// Samples for a fit, kSamplePiece of them: features are means of groups less the mean of the
  /// first one, in steps, so that weights need not care about constants; the last one is what they
  /// are to give. Samples count less where the field is lively, and not at all behind `count` and
  /// where something is large or no number. features[(g - 1) * pitch + i] and, for what they are to
  /// give, g = group_count.
  void (*samples)(const StencilSamples<T>& from, std::size_t pitch, float* features);
  /// products[i * features + j] += sum over the values of feature i times feature j, j <= i.
  /// `count` is a multiple of kProductLanes, and so is `pitch`.
  void (*add_products)(const float* values, std::size_t features, std::size_t pitch,
                       std::size_t count, double* products);
};

template <class T>
const StencilKernels<T>& stencil_kernels(Isa isa);
template <>
const StencilKernels<float>& stencil_kernels(Isa isa);
template <>
const StencilKernels<double>& stencil_kernels(Isa isa);

template <class T>
const StencilKernels<T>& stencil_kernels_reference();
extern template const StencilKernels<float>& stencil_kernels_reference();
extern template const StencilKernels<double>& stencil_kernels_reference();

}  // namespace tensorpress::kernels
