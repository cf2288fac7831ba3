// IEEE binary16 (f16) and bfloat16 (bf16) as bit patterns, to float and back. Integer arithmetic
// only, so the bits are the same on every machine; SIMD kernels are compared with these functions.
//
//   f16    sign 1 | exponent 5, bias 15  | fraction 10
//   bf16   sign 1 | exponent 8, bias 127 | fraction 7
//   float  sign 1 | exponent 8, bias 127 | fraction 23
//
// Widening is exact. Narrowing rounds to nearest, ties to even; beyond the largest finite value
// lies infinity. A NaN stays a NaN and keeps the payload bits that fit, so that widening and
// narrowing again gives back all 65536 patterns (hardware conversions also set the quiet bit of a
// signalling NaN).
#pragma once

#include <bit>
#include <cstdint>

namespace tensorpress {

constexpr float f16_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1Fu;
  const std::uint32_t fraction = half & 0x3FFu;
  std::uint32_t magnitude = 0;
  if (exponent == 31) {  // infinity or NaN
    magnitude = 0x7F800000u | (fraction << 13);
  } else if (exponent != 0) {
    magnitude = ((exponent + 112) << 23) | (fraction << 13);
  } else if (fraction != 0) {  // subnormal: fraction * 2^-24, normal as a float
    const auto shift = static_cast<std::uint32_t>(std::countl_zero(fraction) - 21);
    magnitude = ((113 - shift) << 23) | (((fraction << shift) & 0x3FFu) << 13);
  }
  return std::bit_cast<float>(sign | magnitude);
}

constexpr std::uint16_t float_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  const std::uint32_t exponent = magnitude >> 23;
  std::uint32_t half = 0;
  if (magnitude > 0x7F800000u) {  // NaN; quiet when no payload bit fits
    const std::uint32_t payload = (magnitude >> 13) & 0x3FFu;
    half = 0x7C00u | (payload != 0 ? payload : 0x200u);
  } else if (magnitude >= 0x477FF000u) {  // 65520 = largest finite f16 and half a step
    half = 0x7C00u;
  } else if (exponent >= 113) {  // normal; a carry out of the fraction moves on to the exponent
    half = ((magnitude + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13) - (112u << 10);
  } else if (exponent >= 102) {  // 2^-25 and above: a multiple of 2^-24, or rounded to one
    const std::uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u;
    const std::uint32_t shift = 126 - exponent;  // 14..24
    half = significand >> shift;
    const std::uint32_t rest = significand & ((1u << shift) - 1);
    const std::uint32_t tie = 1u << (shift - 1);
    half += rest > tie || (rest == tie && (half & 1u) != 0) ? 1u : 0u;
  }
  return static_cast<std::uint16_t>(sign | half);
}

constexpr float bf16_to_float(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

constexpr std::uint16_t float_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {  // NaN; quiet when no payload bit fits
    const std::uint32_t high = bits >> 16;
    return static_cast<std::uint16_t>((high & 0x7Fu) != 0 ? high : high | 0x40u);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace tensorpress
