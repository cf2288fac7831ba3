// One step of a wavelet transform along one axis, and the classes of its coefficients: the kernels
// of codec `dense`'s wavelet predictor.
//
// A step takes an odd number of values. Low values (averages) come to stand first, high values
// (differences) behind them:
//   low[m]  = sum over k of low_k  (x[2m - k] + x[2m + k])
//   high[m] = sum over k of (-1)^k high_k (x[2m + 1 - k] + x[2m + 1 + k])
// and synthesis is, with s the two halves interleaved again (s[2m] = low[m], s[2m + 1] = high[m]),
//   x[i] = sum over k of c (s[i - k] + s[i + k]),   c = high_k where s[i + k] is low,
//                                                   c = (-1)^k low_k where it is high.
// Values before the first and behind the last are mirrored (x[-k] = x[k]) or mirrored through the
// point of the end (x[-k] = 2 x[0] - x[k]), which keeps slopes.
//
// Sums run over rising k, products and sums are rounded one by one: the same bits for every
// instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/wavelet/filters.h"

namespace tensorpress::kernels {

enum class WaveletEnds : std::uint8_t { mirrored, through_point };

struct WaveletStep {
  WaveletFilter filter = WaveletFilter::taps_9_7;
  WaveletEnds ends = WaveletEnds::mirrored;
  std::size_t count = 0;  // odd, more than the filter's reach
};

/// Columns are worked on side by side in whole blocks of this many elements.
inline constexpr std::size_t kWaveletBlock = 16;
/// Elements of scratch memory that a step needs.
constexpr std::size_t wavelet_scratch(std::size_t count) {
  return 2 * kWaveletBlock * (count + 2 * kMostWaveletReach + 2) + count + 256;
}

template <class T>
struct WaveletKernels {
  /// `step.count` rows, `stride` elements apart, of `width` elements, a multiple of kWaveletBlock.
  /// In place.
  void (*analyze_columns)(const WaveletStep& step, T* values, std::size_t stride, std::size_t width,
                          T* scratch);
  void (*synthesize_columns)(const WaveletStep& step, T* values, std::size_t stride,
                             std::size_t width, T* scratch);
  /// One row of `step.count` values, in place.
  void (*analyze_row)(const WaveletStep& step, T* values, T* scratch);
  void (*synthesize_row)(const WaveletStep& step, T* values, T* scratch);
};

template <class T>
const WaveletKernels<T>& wavelet_kernels(Isa isa);
template <>
const WaveletKernels<float>& wavelet_kernels(Isa isa);
template <>
const WaveletKernels<double>& wavelet_kernels(Isa isa);
template <class T>
const WaveletKernels<T>& wavelet_kernels_reference();

}  // namespace tensorpress::kernels
