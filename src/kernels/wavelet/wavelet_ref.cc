// The scalar truth of wavelet.h.
#include <cstring>
#include <vector>

#include "kernels/wavelet/wavelet.h"

namespace tensorpress::kernels {
namespace {

// Calls use(taps) with the taps of a filter.
template <class Use>
void with_taps(WaveletFilter filter, const Use& use) {
  switch (filter) {
    case WaveletFilter::taps_9_7:
      return use(kWaveletTaps<WaveletFilter::taps_9_7>);
    case WaveletFilter::taps_13_11:
      return use(kWaveletTaps<WaveletFilter::taps_13_11>);
    case WaveletFilter::taps_17_11:
      return use(kWaveletTaps<WaveletFilter::taps_17_11>);
    case WaveletFilter::taps_25_19:
      return use(kWaveletTaps<WaveletFilter::taps_25_19>);
  }
}

// Extends a line to both sides; of interleaved halves the odd ones are differences, which change
// sign where the others are mirrored through a point.
template <class T>
void extend(T* line, std::size_t count, std::size_t reach, WaveletEnds ends, bool halves) {
  T* const last = line + count - 1;
  for (std::size_t k = 1; k <= reach; ++k) {
    const auto d = static_cast<std::ptrdiff_t>(k);
    const bool difference = halves && k % 2 == 1;
    if (ends == WaveletEnds::mirrored) {
      line[-d] = line[d];
      last[d] = last[-d];
    } else if (difference) {
      line[-d] = -line[d];
      last[d] = -last[-d];
    } else {
      line[-d] = (line[0] + line[0]) - line[d];
      last[d] = (last[0] + last[0]) - last[-d];
    }
  }
}

// Into low and high, `to` elements apart.
template <class T, class Taps>
void analyze_line(const Taps& taps, const T* line, std::size_t count, T* values,
                  std::size_t stride) {
  const std::size_t half = (count + 1) / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const T* const at = line + i;
    if (i % 2 == 0) {
      T sum = static_cast<T>(taps.low[0]) * at[0];
      for (std::size_t k = 1; k < taps.kLow; ++k) {
        const auto d = static_cast<std::ptrdiff_t>(k);
        sum = sum + static_cast<T>(taps.low[k]) * (at[-d] + at[d]);
      }
      values[i / 2 * stride] = sum;
    } else {
      T sum = static_cast<T>(taps.high[0]) * at[0];
      for (std::size_t k = 1; k < taps.kHigh; ++k) {
        const auto d = static_cast<std::ptrdiff_t>(k);
        const T tap = static_cast<T>(k % 2 == 1 ? -taps.high[k] : taps.high[k]);
        sum = sum + tap * (at[-d] + at[d]);
      }
      values[(half + i / 2) * stride] = sum;
    }
  }
}

template <class T, class Taps>
void synthesize_line(const Taps& taps, const T* line, std::size_t count, T* values,
                     std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    const T* const at = line + i;
    T sum = 0;
    for (std::size_t k = 0; k <= taps.kReach; ++k) {
      const bool low = (i + k) % 2 == 0;
      if (k >= (low ? taps.kHigh : taps.kLow)) continue;
      const double magnitude = low ? taps.high[k] : taps.low[k];
      const T tap = static_cast<T>(!low && k % 2 == 1 ? -magnitude : magnitude);
      const auto d = static_cast<std::ptrdiff_t>(k);
      sum = k == 0 ? tap * at[0] : sum + tap * (at[-d] + at[d]);
    }
    values[i * stride] = sum;
  }
}

template <class T>
void analyze(const WaveletStep& step, T* values, std::size_t stride, T* scratch) {
  T* const line = scratch + kMostWaveletReach;
  for (std::size_t i = 0; i < step.count; ++i) line[i] = values[i * stride];
  with_taps(step.filter, [&](const auto& taps) {
    extend(line, step.count, taps.kReach, step.ends, false);
    analyze_line(taps, line, step.count, values, stride);
  });
}

template <class T>
void synthesize(const WaveletStep& step, T* values, std::size_t stride, T* scratch) {
  T* const line = scratch + kMostWaveletReach;
  const std::size_t half = (step.count + 1) / 2;
  for (std::size_t i = 0; i < step.count; ++i) {
    line[i] = values[(i % 2 == 0 ? i / 2 : half + i / 2) * stride];
  }
  with_taps(step.filter, [&](const auto& taps) {
    extend(line, step.count, taps.kReach, step.ends, true);
    synthesize_line(taps, line, step.count, values, stride);
  });
}

template <class T>
void analyze_columns(const WaveletStep& step, T* values, std::size_t stride, std::size_t width,
                     T* scratch) {
  for (std::size_t x = 0; x < width; ++x) analyze(step, values + x, stride, scratch);
}
template <class T>
void synthesize_columns(const WaveletStep& step, T* values, std::size_t stride, std::size_t width,
                        T* scratch) {
  for (std::size_t x = 0; x < width; ++x) synthesize(step, values + x, stride, scratch);
}
template <class T>
void analyze_row(const WaveletStep& step, T* values, T* scratch) {
  analyze(step, values, 1, scratch);
}
template <class T>
void synthesize_row(const WaveletStep& step, T* values, T* scratch) {
  synthesize(step, values, 1, scratch);
}

}  // namespace

template <class T>
const WaveletKernels<T>& wavelet_kernels_reference() {
  static constexpr WaveletKernels<T> kKernels = {analyze_columns<T>, synthesize_columns<T>,
                                                 analyze_row<T>, synthesize_row<T>};
  return kKernels;
}
template const WaveletKernels<float>& wavelet_kernels_reference();
template const WaveletKernels<double>& wavelet_kernels_reference();

}  // namespace tensorpress::kernels
