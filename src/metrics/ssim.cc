// Structural similarity (Wang, Bovik, Sheikh, Simoncelli: Image Quality Assessment: From Error
// Visibility to Structural Similarity, 2004, equation 13):
//
//              (2 mx my + C1) (2 sxy + C2)            C1 = (0.01 L)^2
//   SSIM = -----------------------------------        C2 = (0.03 L)^2
//          (mx^2 + my^2 + C1)(sx^2 + sy^2 + C2)
//
// with means m and (co)variances s under an 11 x 11 Gaussian window, at every position where the
// window lies inside the plane. The window is a product of two 1-D windows, so that each of the
// four sums that the formula needs (x, y, x^2 + y^2, xy) costs 11 + 11 products instead of 121:
// along the row first, kept for eleven rows, then down the column.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/tensor/elements.h"
#include "base/tensor/planes.h"
#include "metrics/metrics.h"

namespace tensorpress::metrics {
namespace {

constexpr std::size_t kWindow = kSsimWindow;
constexpr std::size_t kCentre = kWindow / 2;
constexpr double kSigma = 1.5;
constexpr std::size_t kSums = 4;

std::array<double, kWindow> gaussian() {
  std::array<double, kWindow> weights{};
  double total = 0;
  for (std::size_t i = 0; i < kWindow; ++i) {
    const double distance = static_cast<double>(i) - static_cast<double>(kCentre);
    weights[i] = std::exp(-distance * distance / (2 * kSigma * kSigma));
    total += weights[i];
  }
  for (double& weight : weights) weight /= total;
  return weights;
}

// One plane after the other; the memory is kept between them.
class PlaneSsim {
 public:
  PlaneSsim(std::uint64_t width, double value_range)
      : width_(static_cast<std::size_t>(width)),
        outputs_(width_ - (kWindow - 1)),
        c1_(0.01 * value_range * 0.01 * value_range),
        c2_(0.03 * value_range * 0.03 * value_range),
        weights_(gaussian()),
        terms_(kSums * width_),
        rows_(kWindow * kSums * outputs_),
        columns_(kSums * outputs_) {}

  /// The sum of SSIM over all window positions, or nothing if a value is not finite.
  std::optional<double> sum(const TensorView& x, const TensorView& y) {
    double total = 0;
    for (std::uint64_t row = 0; row < x.shape[0]; ++row) {
      if (!load_terms(x, y, row)) return std::nullopt;
      filter_row(row % kWindow);
      if (row + 1 < kWindow) continue;
      filter_columns(row + 1);
      total += sum_of_positions();
    }
    return total;
  }

 private:
  // x, y, x^2 + y^2 and xy of one row.
  bool load_terms(const TensorView& x, const TensorView& y, std::uint64_t row) {
    double* const xs = terms_.data();
    double* const ys = xs + width_;
    double* const squares = ys + width_;
    double* const products = squares + width_;
    const auto load = [&](const TensorView& view, double* to) {
      load_elements(view.dtype, view.data + static_cast<std::int64_t>(row) * view.strides[0],
                    view.strides[1], width_, to);
    };
    load(x, xs);
    load(y, ys);
    double not_finite = 0;  // x - x is 0 for finite x and NaN otherwise
    for (std::size_t i = 0; i < width_; ++i) {
      not_finite += (xs[i] - xs[i]) + (ys[i] - ys[i]);
      squares[i] = xs[i] * xs[i] + ys[i] * ys[i];
      products[i] = xs[i] * ys[i];
    }
    return not_finite == 0;
  }

  // The window along the row; its two halves are the same, so equal weights are taken together.
  void filter_row(std::size_t slot) {
    for (std::size_t term = 0; term < kSums; ++term) {
      const double* const from = terms_.data() + term * width_;
      double* const to = rows_.data() + (slot * kSums + term) * outputs_;
      const auto weights = weights_;  // a local copy cannot alias the rows
      for (std::size_t i = 0; i < outputs_; ++i) {
        to[i] = from[i + 5] * weights[5] + (from[i + 4] + from[i + 6]) * weights[4] +
                (from[i + 3] + from[i + 7]) * weights[3] +
                (from[i + 2] + from[i + 8]) * weights[2] +
                (from[i + 1] + from[i + 9]) * weights[1] + (from[i] + from[i + 10]) * weights[0];
      }
    }
  }

  // The window down the last eleven rows; the oldest lies in slot `next % kWindow`.
  void filter_columns(std::uint64_t next) {
    const std::size_t length = kSums * outputs_;
    const auto row = [&](std::uint64_t age) {
      return rows_.data() + static_cast<std::size_t>((next + age) % kWindow) * length;
    };
    std::array<const double*, kWindow> from{};
    for (std::size_t age = 0; age < kWindow; ++age) from[age] = row(age);
    const auto weights = weights_;
    double* const to = columns_.data();
    for (std::size_t i = 0; i < length; ++i) {
      to[i] = from[5][i] * weights[5] + (from[4][i] + from[6][i]) * weights[4] +
              (from[3][i] + from[7][i]) * weights[3] + (from[2][i] + from[8][i]) * weights[2] +
              (from[1][i] + from[9][i]) * weights[1] + (from[0][i] + from[10][i]) * weights[0];
    }
  }

  double sum_of_positions() const {
    const double* const mean_x = columns_.data();
    const double* const mean_y = mean_x + outputs_;
    const double* const squares = mean_y + outputs_;
    const double* const products = squares + outputs_;
    const double c1 = c1_;
    const double c2 = c2_;
    double total = 0;
    for (std::size_t i = 0; i < outputs_; ++i) {
      const double means = mean_x[i] * mean_y[i];
      const double mean_squares = mean_x[i] * mean_x[i] + mean_y[i] * mean_y[i];
      const double covariance = products[i] - means;
      const double variances = squares[i] - mean_squares;
      total += (2 * means + c1) * (2 * covariance + c2) / ((mean_squares + c1) * (variances + c2));
    }
    return total;
  }

  std::size_t width_;
  std::size_t outputs_;  // window positions in a row
  double c1_;
  double c2_;
  std::array<double, kWindow> weights_;
  std::vector<double> terms_;    // [term][column] of the current row
  std::vector<double> rows_;     // [row % 11][term][position]
  std::vector<double> columns_;  // [term][position]
};

TensorView plane_of(const TensorView& tensor, std::uint64_t number) {
  const std::size_t rank = tensor.shape.rank();
  TensorView plane{tensor.data + plane_offset(tensor.shape, tensor.strides, number),
                   tensor.dtype,
                   {tensor.shape[rank - 2], tensor.shape[rank - 1]},
                   {}};
  plane.strides[0] = tensor.strides[rank - 2];
  plane.strides[1] = tensor.strides[rank - 1];
  return plane;
}

// Without a range the constants vanish and SSIM is defined for equal tensors only.
std::optional<double> ssim_without_range(const TensorView& original, const TensorView& copy) {
  const auto statistics = compare(original, copy);
  if (!statistics.ok() || statistics->nonfinite > 0 || statistics->max_abs_error > 0) return {};
  return 1.0;
}

}  // namespace

std::optional<double> mean_ssim(const TensorView& original, const TensorView& copy,
                                double value_range) {
  const Shape& shape = original.shape;
  const std::size_t rank = shape.rank();
  if (shape != copy.shape || original.dtype != copy.dtype) return {};
  if (rank < 2 || original.element_count() == 0) return {};
  const std::uint64_t height = shape[rank - 2];
  const std::uint64_t width = shape[rank - 1];
  if (height < kWindow || width < kWindow || !std::isfinite(value_range)) return {};
  if (value_range <= 0) return ssim_without_range(original, copy);

  const std::uint64_t planes = plane_count(shape);
  PlaneSsim ssim(width, value_range);
  double total = 0;
  for (std::uint64_t number = 0; number < planes; ++number) {
    const auto sum = ssim.sum(plane_of(original, number), plane_of(copy, number));
    if (!sum) return {};
    total += *sum;
  }
  const std::uint64_t positions = (height - kWindow + 1) * (width - kWindow + 1);
  return total / static_cast<double>(planes) / static_cast<double>(positions);
}

}  // namespace tensorpress::metrics
