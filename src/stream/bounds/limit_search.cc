#include "stream/bounds/limit_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/portable_math.h"

namespace tensorpress::stream {
namespace {

// Squares below it have few bits, or none.
constexpr double kSmallestSquare = 0x1p-900;

// Where the product of the two is too large or too small, though its root is not, from their roots.
double geometric_mean(double a, double b) {
  const double product = a * b;
  const bool exact = product >= kSmallestSquare && std::isfinite(product);
  return exact ? std::sqrt(product) : std::sqrt(a) * std::sqrt(b);
}

// A mean square error of at most e^2 is certain at a limit of e, and e^2 / 3 likely; more is gained
// where values are predicted better than that. The error grows with the square of the limit, or
// less, so a few steps come close.
class PsnrSearch : public LimitSearch {
 public:
  PsnrSearch(double decibels, SearchSpace space)
      : space_(std::move(space)),
        root_mean_square_(space_.width * portable_exp2(-decibels * 0.16609640474436812)),
        wanted_(root_mean_square_ * root_mean_square_) {}

  Result<double> first() override {
    limit_ = certain();
    // A width of 0, or squares that are too large or too small to be told apart: no search.
    if (space_.width == 0 || !std::isfinite(16 * wanted_) || wanted_ < kSmallestSquare) {
      return limit_;
    }
    const auto samples = sample_chunks(space_.grid, space_.dtype, 2 * kSampleBytes);
    // Where next to nothing is not exact, errors may be far beyond their root mean square.
    const double largest = std::max(root_mean_square_ * 16, space_.width / 4);
    // The error grows with the square of the limit, but jumps where a codec changes its ways: what
    // samples have shown to be too much, or fine, is kept in mind.
    limit_ = root_mean_square_ * kRootOfThree;
    double fine = 0, too_much = largest;
    for (int step = 0; step < kSteps; ++step) {
      TRY(const Trial trial, space_.try_limit(limit_, samples));
      const double error = trial.mean_squared_error();
      if (error <= wanted_) {
        fine = std::max(fine, limit_);
        if (error >= kNear * wanted_ || limit_ >= largest) break;
      } else {
        too_much = std::min(too_much, limit_);
      }
      double next = error > 0 ? limit_ * std::sqrt(kMargin * wanted_ / error) : largest;
      if (next >= too_much && too_much < largest) next = (limit_ + too_much) / 2;
      if (next <= fine) next = (fine + too_much) / 2;
      limit_ = std::clamp(next, certain(), largest);
    }
    if (fine > 0) limit_ = fine;
    return limit_;
  }

  Result<std::optional<double>> next(const Outcome& outcome) override {
    if (outcome.mean_squared_error <= wanted_ || limit_ <= certain()) {
      return std::optional<double>();
    }
    // Errors fall with the square of the limit, or hardly at all where a limit is larger than what
    // there is. What fails four times is not tried again.
    static constexpr double kAtMost[] = {1, 0.9, 0.6};
    const double less = limit_ * std::sqrt(kMargin * wanted_ / outcome.mean_squared_error);
    limit_ = corrections_ == std::size(kAtMost)
                 ? certain()
                 : std::max(std::min(less, limit_ * kAtMost[corrections_]), certain());
    ++corrections_;
    return std::optional(limit_);
  }

 private:
  static constexpr int kSteps = 10;
  static constexpr double kMargin = 0.99;
  static constexpr double kNear = 0.94;                       // a quarter of a decibel
  static constexpr double kRootOfThree = 1.7320508075688772;  // errors spread evenly

  /// With rounding of the squares in mind.
  double certain() const { return space_.width == 0 ? 0 : root_mean_square_ * (1 - 1e-6); }

  SearchSpace space_;
  double root_mean_square_;
  double wanted_;
  double limit_ = 0;
  std::size_t corrections_ = 0;
};

class RatioSearch : public LimitSearch {
 public:
  RatioSearch(double ratio, SearchSpace space)
      : space_(std::move(space)),
        ratio_(ratio),
        samples_(sample_chunks(space_.grid, space_.dtype)),
        widest_(space_.width),
        narrowest_(std::max(space_.width * 1e-12, smallest())) {}

  Result<double> first() override {
    if (widest_ == 0) return 0.0;
    double low = narrowest_, high = widest_;
    // A few outliers, and the range says little of the values: on to smaller limits while those do.
    while (low > smallest()) {
      TRY(const double reached, sampled_ratio(low));
      if (reached < ratio_) break;
      high = low;
      low = std::max(low * 1e-12, smallest());
    }
    narrowest_ = low;
    TRY(limit_, smallest_limit(ratio_, low, high));
    return limit_;
  }

  Result<std::optional<double>> next(const Outcome& outcome) override {
    const double reached = outcome.ratio();
    if (reached >= ratio_) {
      enough_ = std::min(enough_.value_or(limit_), limit_);
      const bool close = reached <= kSlack * ratio_ || sampled_everything();
      if (close || settled_ || ++attempts_ >= kAttempts) return take(enough_.value());
    } else {
      too_little_ = std::max(too_little_, limit_);
      if (limit_ >= widest_) return out_of_reach(reached);
      if (++attempts_ >= kAttempts) return take(enough_.value_or(widest_));
    }
    return propose(reached);
  }

 private:
  static constexpr double kSlack = 1.03;    // so much more than asked for is close enough
  static constexpr double kCushion = 1.01;  // aimed at, because samples are not everything
  static constexpr int kAttempts = 6;

  double smallest() const {
    return space_.dtype == DType::f64 ? std::numeric_limits<double>::denorm_min() : 0x1p-150;
  }
  bool sampled_everything() const { return samples_.size() == space_.grid.chunk_count(); }

  /// Of the samples, with their part of the container.
  Result<double> sampled_ratio(double limit) {
    TRY(const Trial trial, space_.try_limit(limit, samples_));
    const double all = static_cast<double>(space_.grid.shape().element_count()) *
                       static_cast<double>(size_of(space_.dtype));
    const double part = static_cast<double>(trial.bytes_in);
    const double container = static_cast<double>(space_.opening_bytes) * part / all;
    return part / (static_cast<double>(trial.bytes_out) + container);
  }

  /// The smallest limit between the two with which the samples reach the ratio; `high` if none
  /// does.
  Result<double> smallest_limit(double ratio, double low, double high) {
    constexpr double kClose = 1.002;
    for (int step = 0; step < 48 && high > low * kClose; ++step) {
      const double middle = geometric_mean(low, high);
      TRY(const double reached, sampled_ratio(middle));
      (reached < ratio ? low : high) = middle;
    }
    return high;
  }

  /// Samples of another part of the tensor are off by some factor, and stay so nearby.
  Result<std::optional<double>> propose(double reached) {
    TRY(const double sampled, sampled_ratio(limit_));
    const double low = std::max(too_little_, narrowest_), high = enough_.value_or(widest_);
    TRY(const double proposed, smallest_limit(sampled * ratio_ * kCushion / reached, low, high));
    if (enough_ && proposed >= *enough_) return take(*enough_);
    limit_ = proposed;
    return std::optional(limit_);
  }

  /// A limit that is known to be enough, or the last resort.
  Result<std::optional<double>> take(double limit) {
    settled_ = true;
    if (limit == limit_ && enough_) return std::optional<double>();
    limit_ = limit;
    return std::optional(limit_);
  }

  Error out_of_reach(double reached) const {
    return bad_argument("a ratio of ", ratio_,
                        " is out of reach: even a bound of the whole range, ", widest_, ", gives ",
                        rounded(reached));
  }

  SearchSpace space_;
  double ratio_;
  std::vector<std::uint64_t> samples_;
  double widest_, narrowest_;
  double limit_ = 0;
  double too_little_ = 0;              // the largest limit that was not enough
  std::optional<double> enough_ = {};  // the smallest that was
  int attempts_ = 0;
  bool settled_ = false;
};

}  // namespace

std::unique_ptr<LimitSearch> search_for_psnr(double decibels, SearchSpace space) {
  return std::make_unique<PsnrSearch>(decibels, std::move(space));
}

std::unique_ptr<LimitSearch> search_for_ratio(double ratio, SearchSpace space) {
  return std::make_unique<RatioSearch>(ratio, std::move(space));
}

}  // namespace tensorpress::stream
