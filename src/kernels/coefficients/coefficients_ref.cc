// The scalar truth of coefficients.h.
#include <algorithm>
#include <cmath>

#include "kernels/coefficients/coefficients.h"

namespace tensorpress::kernels {
namespace {

template <class T>
RowSize<T> measure(const T* values, std::size_t count) {
  std::array<T, 16> largest{}, sums{};
  for (std::size_t i = 0; i < count; ++i) {
    const T size = std::fabs(values[i]);
    T& most = largest[i % 16];
    most = size > most ? size : most;
    sums[i % 16] += size;
  }
  RowSize<T> row;
  for (std::size_t lane = 0; lane < 16; ++lane) {
    row.largest = std::max(row.largest, largest[lane]);
    row.sum += sums[lane];
  }
  return row;
}

template <class T>
void magnitudes(const T* values, std::size_t count, T inverse, int shift, std::uint16_t* to) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = magnitude_of(nearest_quantum(values[i], inverse), shift);
  }
}

template <class T>
void quantize(const CoefficientQuantizer<T>& quantizer, const std::uint8_t* classes,
              std::size_t count, T* values, std::int32_t* quanta, std::uint16_t* magnitudes) {
  for (std::size_t i = 0; i < count; ++i) {
    quanta[i] = quantum_of(quantizer, classes[i], values[i]);
    magnitudes[i] = magnitude_of(quanta[i], quantizer.shift);
    values[i] = static_cast<T>(quanta[i]) * quantizer.step;
  }
}

template <class T>
void restore(const std::int32_t* quanta, std::size_t count, T step, int shift, T* values,
             std::uint16_t* magnitudes) {
  for (std::size_t i = 0; i < count; ++i) {
    magnitudes[i] = magnitude_of(quanta[i], shift);
    values[i] = static_cast<T>(quanta[i]) * step;
  }
}

template <class T>
void find_misses(const T* values, T offset, const T* originals, T limit, std::size_t count,
                 std::uint8_t* flags) {
  for (std::size_t start = 0; start < count; start += kMissBlock) {
    bool all = true;
    for (std::size_t i = start; i < std::min(count, start + kMissBlock); ++i) {
      const T value = values[i] + offset;
      all = all && std::fabs(originals[i] - value) <= limit;
    }
    flags[start / kMissBlock] = all ? 0 : 1;
  }
}

}  // namespace

template <class T>
const CoefficientKernels<T>& coefficient_kernels_reference() {
  static constexpr CoefficientKernels<T> kKernels = {measure<T>, magnitudes<T>, quantize<T>,
                                                     restore<T>, find_misses<T>};
  return kKernels;
}
template const CoefficientKernels<float>& coefficient_kernels_reference();
template const CoefficientKernels<double>& coefficient_kernels_reference();

}  // namespace tensorpress::kernels
