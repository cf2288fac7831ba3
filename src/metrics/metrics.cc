// Element-wise comparison, a block of elements at a time in C order. Sums run in eight lanes, so
// that the compiler can vectorize them, and are put together in a fixed order; the result does not
// depend on strides or instruction sets.
#include "metrics/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/errors.h"
#include "base/tensor/elements.h"
#include "base/tensor/half_types.h"

namespace tensorpress::metrics {
namespace {

constexpr std::size_t kBlock = 1024;
constexpr std::size_t kLanes = 8;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Up to kBlock elements in C order, packed if the view is not.
class BlockReader {
 public:
  explicit BlockReader(const TensorView& view)
      : view_(view), contiguous_(view.is_contiguous()), at_(view.data) {}

  const std::byte* next(std::size_t count) {
    const std::size_t element = size_of(view_.dtype);
    if (contiguous_) {
      const std::byte* const block = at_;
      at_ += count * element;
      return block;
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(packed_.data() + i * element, at_, element);
      step();
    }
    return packed_.data();
  }

 private:
  void step() {
    for (std::size_t axis = view_.shape.rank(); axis-- > 0;) {
      at_ += view_.strides[axis];
      if (++index_[axis] < view_.shape[axis]) return;
      at_ -= static_cast<std::int64_t>(index_[axis]) * view_.strides[axis];
      index_[axis] = 0;
    }
  }

  TensorView view_;
  bool contiguous_;
  const std::byte* at_;
  std::array<std::uint64_t, kMaxRank> index_{};
  alignas(64) std::array<std::byte, kBlock * sizeof(double)> packed_{};
};

// Pairs of elements as doubles. `pad` completes the last row of lanes with pairs that change
// neither the range nor the errors.
struct Block {
  std::size_t count = 0;
  alignas(64) std::array<double, kBlock> original{};
  alignas(64) std::array<double, kBlock> copy{};

  void pad() {
    for (std::size_t i = count; i % kLanes != 0; ++i) original[i] = copy[i] = original[0];
  }

  // As if it were NaN.
  void mark_missing(double fill) {
    for (std::size_t i = 0; i < count; ++i) {
      if (original[i] == fill) original[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }

  // x - x is 0 for finite x and NaN otherwise; a NaN stays in the sum.
  bool is_finite() const {
    std::array<double, kLanes> sums{};
    for (std::size_t i = 0; i < count; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sums[lane] += (original[i + lane] - original[i + lane]) + (copy[i + lane] - copy[i + lane]);
      }
    }
    double sum = 0;
    for (const double lane : sums) sum += lane;
    return sum == 0;
  }
};

// Drops the elements that are not finite in the original from the block and counts them. An element
// that is not finite only in the copy stays for the range; its error is infinite.
void take_out_nonfinite(Block& block, const std::byte* original, const std::byte* copy,
                        std::size_t element, ErrorStatistics& statistics) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < block.count; ++i) {
    const double value = block.original[i];
    double other = block.copy[i];
    if (!std::isfinite(value) || !std::isfinite(other)) {
      const bool equal = std::memcmp(original + i * element, copy + i * element, element) == 0;
      if (!equal) ++statistics.mismatched_nonfinite;
      if (!std::isfinite(value)) {
        ++statistics.nonfinite;
        continue;
      }
      statistics.max_abs_error = kInfinity;
      statistics.max_pointwise_error = kInfinity;
      statistics.squared_error.sum = kInfinity;
      other = value;
    }
    block.original[kept] = value;
    block.copy[kept] = other;
    ++kept;
  }
  block.count = kept;
  block.pad();
}

// The squares of a block whose largest error is known: `plain` where they are doubles, and again
// with scaled errors where they are not.
SumOfSquares squares_of(const Block& block, double largest, std::array<double, kLanes> plain) {
  SumOfSquares squares{.exponent = SumOfSquares::exponent_for(largest)};
  if (squares.exponent != 0) {
    const double scale = std::ldexp(1.0, -squares.exponent);
    plain.fill(0);
    for (std::size_t i = 0; i < block.count; ++i) {
      const double error = (block.original[i] - block.copy[i]) * scale;
      plain[i % kLanes] += error * error;
    }
  }
  for (const double lane : plain) squares.sum += lane;
  return squares;
}

// Range and errors of a padded block of finite values.
void add_finite(const Block& block, ErrorStatistics& statistics) {
  std::array<double, kLanes> lowest{};
  std::array<double, kLanes> highest{};
  std::array<double, kLanes> worst{};
  std::array<double, kLanes> worst_share{};
  std::array<double, kLanes> squares{};
  lowest.fill(kInfinity);
  highest.fill(-kInfinity);
  for (std::size_t i = 0; i < block.count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = block.original[i + lane];
      const double error = std::abs(value - block.copy[i + lane]);
      lowest[lane] = value < lowest[lane] ? value : lowest[lane];
      highest[lane] = value > highest[lane] ? value : highest[lane];
      worst[lane] = error > worst[lane] ? error : worst[lane];
      const double share = error == 0 ? 0 : error / std::abs(value);
      worst_share[lane] = share > worst_share[lane] ? share : worst_share[lane];
      squares[lane] += error * error;
    }
  }
  statistics.minimum = *std::ranges::min_element(lowest);
  statistics.maximum = *std::ranges::max_element(highest);
  const double largest = *std::ranges::max_element(worst);
  statistics.squared_error.add(squares_of(block, largest, squares));
  statistics.max_abs_error = std::max(statistics.max_abs_error, largest);
  statistics.max_pointwise_error =
      std::max(statistics.max_pointwise_error, *std::ranges::max_element(worst_share));
}

// What the values are as elements.
std::vector<double> rounded_to(DType dtype, std::span<const double> values) {
  std::vector<double> rounded;
  for (const double value : values) {
    const auto single = static_cast<float>(value);
    switch (dtype) {
      case DType::f32:
        rounded.push_back(single);
        break;
      case DType::f16:
        rounded.push_back(f16_to_float(float_to_f16(single)));
        break;
      case DType::bf16:
        rounded.push_back(bf16_to_float(float_to_bf16(single)));
        break;
      default:
        rounded.push_back(value);
    }
  }
  return rounded;
}

std::uint64_t finite_count(const ErrorStatistics& statistics) {
  return statistics.count - statistics.nonfinite;
}

// error / range; an error without a range is infinitely large, no error is none.
double relative(double error, double range) {
  if (error == 0) return 0;
  // A range that no double holds is no reason to call every error nothing.
  return range > 0 ? error / std::min(range, std::numeric_limits<double>::max()) : kInfinity;
}

}  // namespace

double ErrorStatistics::max_rel_error() const {
  return relative(max_abs_error, value_range());
}

double ErrorStatistics::l2_error() const {
  return squared_error.root_of_mean(1);
}

double ErrorStatistics::rmse() const {
  const std::uint64_t finite = finite_count(*this);
  return finite == 0 ? 0 : squared_error.root_of_mean(static_cast<double>(finite));
}

double ErrorStatistics::nrmse() const {
  return relative(rmse(), value_range());
}

double ErrorStatistics::psnr_db() const {
  return -20 * std::log10(nrmse());
}

void ErrorStatistics::merge(const ErrorStatistics& other) {
  if (finite_count(other) > 0) {
    const bool first = finite_count(*this) == 0;
    minimum = first ? other.minimum : std::min(minimum, other.minimum);
    maximum = first ? other.maximum : std::max(maximum, other.maximum);
  }
  count += other.count;
  nonfinite += other.nonfinite;
  mismatched_nonfinite += other.mismatched_nonfinite;
  max_abs_error = std::max(max_abs_error, other.max_abs_error);
  max_pointwise_error = std::max(max_pointwise_error, other.max_pointwise_error);
  squared_error.add(other.squared_error);
}

Result<ErrorStatistics> compare(const TensorView& original, const TensorView& copy,
                                std::span<const double> fill_values) {
  if (original.shape != copy.shape || original.dtype != copy.dtype) {
    return bad_argument("cannot compare ", original.shape.to_string(), " of ",
                        name_of(original.dtype), " with ", copy.shape.to_string(), " of ",
                        name_of(copy.dtype), "; shapes and types must be the same");
  }
  const std::size_t element = size_of(original.dtype);
  const auto stride = static_cast<std::int64_t>(element);
  const std::vector<double> fills = rounded_to(original.dtype, fill_values);
  BlockReader originals(original);
  BlockReader copies(copy);
  Block block;
  ErrorStatistics statistics;
  for (std::uint64_t left = original.element_count(); left > 0;) {
    ErrorStatistics part;
    part.count = std::min<std::uint64_t>(left, kBlock);
    left -= part.count;
    block.count = static_cast<std::size_t>(part.count);
    const std::byte* const original_bytes = originals.next(block.count);
    const std::byte* const copy_bytes = copies.next(block.count);
    load_elements(original.dtype, original_bytes, stride, block.count, block.original.data());
    load_elements(copy.dtype, copy_bytes, stride, block.count, block.copy.data());
    for (const double fill : fills) block.mark_missing(fill);
    block.pad();
    if (!block.is_finite()) take_out_nonfinite(block, original_bytes, copy_bytes, element, part);
    if (block.count > 0) add_finite(block, part);
    statistics.merge(part);
  }
  return statistics;
}

}  // namespace tensorpress::metrics
