// Rows of the multilevel interpolation of codec `dense`. A value is predicted from values already
// reconstructed on both sides of it, and its residual's scale from the slope and bend of those
// values and from the residuals of the rows coded before. Encoder and decoder compute both, so no
// scale is stored.
//
//   s = left + right    bend = s - (far_left + far_right)    p = s / 2 + cubic * bend
//   (the mean over `directions` when there are several)
//   prediction = p + feedback * error                        error: what p missed one row earlier
//   scale = floor + gradient |left - right| + curvature |bend| + above * A + behind * B
//           A, B: running means of |residual| one row / one plane earlier, weights 1 2 1 along x
//   class = half octaves of scale above 2^-8 (or a higher first_class), 0 to 31
//   value = prediction + residual * step
//
// Multiplications and additions are rounded one by one in exactly this order: the same bits for
// every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace tensorpress::kernels {

/// Rows are read and written in whole vectors: this many elements behind a row's end must be
/// readable, and all but originals and interleaved outputs may be overwritten there.
inline constexpr std::size_t kRowSlack = 32;
inline constexpr std::size_t kScaleClasses = 32;
/// (float bits >> 22) of 2^-8.
inline constexpr std::int32_t kFirstClassBits = 238;

/// The neighbours of a row along one axis. With stride 2, every other element counts.
template <class T>
struct InterpolationDirection {
  const T* far_left = nullptr;
  const T* left = nullptr;
  const T* right = nullptr;
  const T* far_right = nullptr;
  std::size_t stride = 1;
};

template <class T>
struct InterpolationRow {
  std::size_t count = 0;
  std::size_t directions = 1;
  InterpolationDirection<T> direction[3];
  /// Running means with zeros before and behind the row, and what the interpolation missed.
  T* above = nullptr;
  T* behind = nullptr;  // nullptr: no plane before
  T* error = nullptr;   // nullptr: no feedback
};

template <class T>
struct InterpolationModel {
  T cubic = 0;  // 1/16, or 0 for linear
  T feedback = 0;
  T gradient = 0;
  T curvature = 0;
  T above = 0;
  T behind = 0;
  T floor = 0;
  T step = 0;
  T inverse_step = 0;
  T bound = 0;                                 // what an encoder checks
  std::int32_t first_class = kFirstClassBits;  // raised where residuals are large
  /// Predictions near zero are multiples of the step and reconstructions within half a step of zero
  /// are zero, so that zeros come back as zeros.
  bool keep_zeros = false;
};

enum class RowStore { none, contiguous, interleaved };

/// Where reconstructed values go; interleaved: between the elements of `between`.
template <class T>
struct RowOutput {
  RowStore store = RowStore::none;
  T* values = nullptr;
  const T* between = nullptr;
};

template <class T>
struct InterpolationKernels {
  /// Fills predictions and classes; row.error holds p until quantize or reconstruct.
  void (*predict)(const InterpolationRow<T>& row, const InterpolationModel<T>& model,
                  T* predictions, std::uint8_t* classes);
  /// The encoder's half of a row: residuals, reconstructed values, histories. A NaN among the
  /// originals has residual 0. Lists the places whose value is not within the bound (their residual
  /// is 0 too) and returns how many.
  std::size_t (*quantize)(const T* originals, std::size_t stride, const InterpolationRow<T>& row,
                          const InterpolationModel<T>& model, const T* predictions,
                          std::int32_t* residuals, const RowOutput<T>& output,
                          std::uint32_t* outliers);
  /// The decoder's half.
  void (*reconstruct)(const std::int32_t* residuals, const InterpolationRow<T>& row,
                      const InterpolationModel<T>& model, const T* predictions,
                      const RowOutput<T>& output);
  /// classes[i] = map[classes[i]], 32 entries.
  void (*translate)(const std::uint8_t* map, std::uint8_t* classes, std::size_t count);
};

template <class T>
const InterpolationKernels<T>& interpolation_kernels(Isa isa);
template <>
const InterpolationKernels<float>& interpolation_kernels(Isa isa);
template <>
const InterpolationKernels<double>& interpolation_kernels(Isa isa);

template <class T>
const InterpolationKernels<T>& interpolation_kernels_reference();
extern template const InterpolationKernels<float>& interpolation_kernels_reference();
extern template const InterpolationKernels<double>& interpolation_kernels_reference();

/// Numbers that all versions share.
template <class T>
struct InterpolationNumbers;
template <>
struct InterpolationNumbers<float> {
  static constexpr float kResidualLimit = 0x1p22f;  // larger ones are outliers
  static constexpr float kRounder = 12582912.0f;    // 1.5 * 2^23
  static constexpr float kLargest = 0x1p119f;       // sums of several of these are finite
  static constexpr std::int32_t kRounderBits = 0x4B400000;
};
template <>
struct InterpolationNumbers<double> {
  static constexpr double kResidualLimit = 0x1p30;
  static constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double kLargest = 0x1p1015;
};
/// Residuals count up to this in the running means, and at least this, which keeps them normal.
inline constexpr float kMostHistory = 255.0f;
inline constexpr float kLeastHistory = 0x1p-20f;
/// Half a step and a little: what is reconstructed within it is zero under keep_zeros.
inline constexpr float kZeroRadius = 0.50048828125f;

}  // namespace tensorpress::kernels
