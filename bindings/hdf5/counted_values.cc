#include "counted_values.h"

#include <algorithm>
#include <cmath>

#include "base/cpu.h"
#include "base/errors.h"
#include "base/tensor/stored_value.h"
#include "kernels/value_scan/value_scan.h"
#include "tensorpress/aligned_buffer.h"

namespace tensorpress::hdf5 {
namespace {

constexpr double kShareOfRange = 0.1;
constexpr std::size_t kSamples = 4096;
constexpr std::size_t kMostFills = 16;  // what a stream takes

template <class T>
class Look {
 public:
  Look(std::span<const T> values, const std::vector<double>& fills, Zeros zeros, DType dtype,
       Isa isa)
      : values_(values), scan_(kernels::value_scan<T>(isa)) {
    if (zeros == Zeros::may_be_padding) skipped_.push_back(T{0});
    for (const double fill : fills) skipped_.push_back(static_cast<T>(as_stored(fill, dtype)));
  }

  CountedValues run(std::vector<double> fills) {
    auto range = scan_(values_, skipped_);
    while (range.min < range.max) {
      const std::vector<T> extremes = without_extremes(range, kMostFills - fills.size());
      if (extremes.empty()) break;
      for (const T extreme : extremes) fills.push_back(static_cast<double>(extreme));
    }
    if (range.min > range.max) return {{}, std::move(fills)};
    const double high = static_cast<double>(range.max), low = static_cast<double>(range.min);
    // f64 from one end to the other is wider than an f64 can say.
    if (!std::isfinite(high - low)) return {{low / 2, high / 2}, std::move(fills)};
    return {{low, high}, std::move(fills)};
  }

 private:
  static double width(const kernels::ValueScan<T>& scan) {
    return scan.min > scan.max ? 0 : static_cast<double>(scan.max) - static_cast<double>(scan.min);
  }

  // The extremes that do not count, which are then taken out of `range`: one, or both at once. At
  // most so many.
  std::vector<T> without_extremes(kernels::ValueScan<T>& range, std::size_t most) {
    const std::vector<T> choices[] = {{range.min}, {range.max}, {range.min, range.max}};
    for (const std::vector<T>& extremes : choices) {
      // A few others that reach far enough show that they do count.
      if (extremes.size() > most || sampled_width(extremes) > kShareOfRange * width(range)) {
        continue;
      }
      skipped_.insert(skipped_.end(), extremes.begin(), extremes.end());
      const auto others = scan_(values_, skipped_);
      if (width(others) <= kShareOfRange * width(range)) {
        range = others;
        return extremes;
      }
      skipped_.resize(skipped_.size() - extremes.size());
    }
    return {};
  }

  double sampled_width(const std::vector<T>& extremes) const {
    kernels::ValueScan<T> scan;
    const std::size_t step = std::max<std::size_t>(values_.size() / kSamples, 1);
    for (std::size_t i = step / 2; i < values_.size(); i += step) {
      const T value = values_[i];
      if (kernels::is_special<T>(value, extremes) || kernels::is_special<T>(value, skipped_)) {
        continue;
      }
      scan.min = std::min(scan.min, value);
      scan.max = std::max(scan.max, value);
    }
    return width(scan);
  }

  std::span<const T> values_;
  kernels::ScanValues<T> scan_;
  std::vector<T> skipped_;
};

}  // namespace

Result<CountedValues> counted_values(const TensorView& chunk, std::vector<double> fill_values,
                                     Zeros zeros) {
  TRY(const Isa isa, active_isa());
  const auto count = static_cast<std::size_t>(chunk.element_count());
  const auto look = [&]<class T>(std::span<const T> values) {
    return Look<T>(values, fill_values, zeros, chunk.dtype, isa).run(fill_values);
  };
  if (chunk.dtype == DType::f64) {
    return look(std::span(reinterpret_cast<const double*>(chunk.data), count));
  }
  if (chunk.dtype == DType::f32) {
    return look(std::span(reinterpret_cast<const float*>(chunk.data), count));
  }
  AlignedBuffer buffer;
  const auto floats = buffer.reserve_as<float>(count);
  load_elements(chunk.dtype, chunk.data, static_cast<std::int64_t>(size_of(chunk.dtype)), count,
                floats.data());
  return look(std::span<const float>(floats));
}

}  // namespace tensorpress::hdf5
