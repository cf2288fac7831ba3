// How far a decompressed tensor is from its original. A statistic has the same name in every
// report. Sums are taken in double, in a fixed order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "metrics/sum_of_squares.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::metrics {

struct ErrorStatistics {
  std::uint64_t count = 0;  // elements compared
  std::uint64_t nonfinite =
      0;  // elements that are NaN, infinite or fill values in the original; left out of all sums
  std::uint64_t mismatched_nonfinite =
      0;               // of those (or where only the copy is), not equal bit for bit
  double minimum = 0;  // of the finite original
  double maximum = 0;
  double max_abs_error = 0;
  double max_pointwise_error =
      0;  // |error| / |value|; infinite where 0 came back as something else
  SumOfSquares squared_error;

  double value_range() const { return maximum - minimum; }
  double max_rel_error() const;  // of the value range; 0 when both are 0
  double l2_error() const;       // square root of squared_error
  double rmse() const;           // root mean square error
  double nrmse() const;          // the same over the value range
  double psnr_db() const;        // 20 log10(range / rmse); +inf for a perfect copy

  void merge(const ErrorStatistics& other);
};

/// Same shape and dtype, any strides. May be called part by part and merged. Fill values, rounded
/// to the dtype, must come back bit for bit, as NaN must.
Result<ErrorStatistics> compare(const TensorView& original, const TensorView& copy,
                                std::span<const double> fill_values = {});

/// The planes of SSIM have at least this many rows and columns.
inline constexpr std::uint64_t kSsimWindow = 11;

/// Mean SSIM (Wang et al. 2004: 11 x 11 Gaussian window, sigma 1.5, K1 = 0.01, K2 = 0.03, L = value
/// range) over all planes of the last two axes; absent when a plane is smaller than the window or
/// has non-finite values.
std::optional<double> mean_ssim(const TensorView& original, const TensorView& copy,
                                double value_range);

}  // namespace tensorpress::metrics
