#include "kernels/value_scan/value_scan.h"

namespace tensorpress::kernels {

template <class T>
ValueScan<T> value_scan_reference(std::span<const T> values, std::span<const T> fills) {
  ValueScan<T> scan;
  for (const T value : values) {
    if (is_special(value, fills)) {
      ++scan.specials;
      continue;
    }
    const T counted = value + T{0};  // -0 + 0 is 0
    scan.min = counted < scan.min ? counted : scan.min;
    scan.max = counted > scan.max ? counted : scan.max;
    scan.zeros = scan.zeros || counted == T{0};
  }
  return scan;
}

template ValueScan<float> value_scan_reference(std::span<const float>, std::span<const float>);
template ValueScan<double> value_scan_reference(std::span<const double>, std::span<const double>);

}  // namespace tensorpress::kernels
