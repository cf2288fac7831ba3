// Coefficients of a wavelet transform to whole numbers and back, row by row, with the magnitudes
// that contexts are made of (contexts.h). Memory is read and written once; 2 to 4 operations a
// value in each kernel.
//
// Every kernel gives the same bits on every instruction set: sums have sixteen partial sums,
// products and sums are rounded one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "kernels/contexts/contexts.h"
#include "kernels/interpolation/interpolation.h"  // kScaleClasses

namespace tensorpress::kernels {

/// Larger quanta are cut off.
inline constexpr std::int32_t kMostQuantum = 1 << 29;

/// How a coefficient c of class k becomes a quantum: with s = min(|c| inverse, kMostQuantum), 0
/// where s is below from_zero[k], else the whole part of s + rise[k]; with the sign of c.
template <class T>
struct CoefficientQuantizer {
  T inverse{}, step{};
  int shift = 0;  // of magnitudes
  std::array<T, kScaleClasses> from_zero{}, rise{};
};

template <class T>
struct RowSize {
  T largest{}, sum{};  // of magnitudes
};

/// Misses are told for so many values at once.
inline constexpr std::size_t kMissBlock = 16;

template <class T>
struct CoefficientKernels {
  /// Largest and sum of |values|.
  RowSize<T> (*measure)(const T* values, std::size_t count);
  /// Magnitudes of the nearest quanta, without any.
  void (*magnitudes)(const T* values, std::size_t count, T inverse, int shift,
                     std::uint16_t* magnitudes);
  /// Quanta and their magnitudes; values become quantum * step.
  void (*quantize)(const CoefficientQuantizer<T>& quantizer, const std::uint8_t* classes,
                   std::size_t count, T* values, std::int32_t* quanta, std::uint16_t* magnitudes);
  /// The inverse: values and magnitudes of quanta.
  void (*restore)(const std::int32_t* quanta, std::size_t count, T step, int shift, T* values,
                  std::uint16_t* magnitudes);
  /// flags[b] = 0 where |originals[i] - (values[i] + offset)| <= limit for all of block b.
  void (*find_misses)(const T* values, T offset, const T* originals, T limit, std::size_t count,
                      std::uint8_t* flags);
};

template <class T>
const CoefficientKernels<T>& coefficient_kernels(Isa isa);
template <>
const CoefficientKernels<float>& coefficient_kernels(Isa isa);
template <>
const CoefficientKernels<double>& coefficient_kernels(Isa isa);
template <class T>
const CoefficientKernels<T>& coefficient_kernels_reference();

/// One value of the kernels, for what is left of a row.
inline std::uint16_t magnitude_of(std::int32_t quantum, int shift) {
  const std::uint32_t size =
      quantum < 0 ? 0u - static_cast<std::uint32_t>(quantum) : static_cast<std::uint32_t>(quantum);
  const std::uint32_t shifted = size >> shift;
  return static_cast<std::uint16_t>(shifted < kMostMagnitude ? shifted : kMostMagnitude);
}
template <class T>
std::int32_t nearest_quantum(T value, T inverse) {
  const T scaled = value * inverse;
  const T size = scaled < 0 ? -scaled : scaled;
  if (!(size < static_cast<T>(kMostQuantum))) return 0;
  const auto whole = static_cast<std::int32_t>(size + static_cast<T>(0.5));
  return scaled < 0 ? -whole : whole;
}
template <class T>
std::int32_t quantum_of(const CoefficientQuantizer<T>& quantizer, std::uint8_t class_number,
                        T value) {
  const T size = (value < 0 ? -value : value) * quantizer.inverse;
  if (!(size >= quantizer.from_zero[class_number])) return 0;  // NaN too
  const T most = static_cast<T>(kMostQuantum);
  const auto whole =
      static_cast<std::int32_t>((size < most ? size : most) + quantizer.rise[class_number]);
  return value < 0 ? -whole : whole;
}

}  // namespace tensorpress::kernels
