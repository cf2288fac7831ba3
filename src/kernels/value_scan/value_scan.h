// What a codec wants to know of values before it starts: their range, whether some are not to be
// coded (NaN, infinities, fill values), whether some are exactly zero. One read of the memory:
// 1 operation a byte, bound by memory from a few cores' worth of cache on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/cpu.h"

namespace tensorpress::kernels {

template <class T>
struct ValueScan {
  T min = std::numeric_limits<T>::infinity();  // of ordinary values; -0 counts as 0
  T max = -std::numeric_limits<T>::infinity();
  std::uint64_t specials = 0;  // NaN, infinite or equal to a fill value
  bool zeros = false;          // an ordinary value is 0 or -0

  void merge(const ValueScan& other) {
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
    specials += other.specials;
    zeros = zeros || other.zeros;
  }
  friend bool operator==(const ValueScan&, const ValueScan&) = default;
};

template <class T>
using ScanValues = ValueScan<T> (*)(std::span<const T> values, std::span<const T> fills);

template <class T>
ScanValues<T> value_scan(Isa isa);
template <>
ScanValues<float> value_scan<float>(Isa isa);
template <>
ScanValues<double> value_scan<double>(Isa isa);

template <class T>
ValueScan<T> value_scan_reference(std::span<const T> values, std::span<const T> fills);

/// Whether a value is left to the special values.
template <class T>
bool is_special(T value, std::span<const T> fills) {
  // NaN and infinities are the only values whose difference from themselves is not zero.
  if (!(value - value == T{0})) return true;
  for (const T fill : fills) {
    if (value == fill) return true;
  }
  return false;
}

}  // namespace tensorpress::kernels
