// The types that a register or a word of SRAM holds, and arithmetic on them. The evaluator at
// compile time and the machine at run time both call these functions, so a constant expression has
// the value that the machine would compute. A scalar is 64 bits: integers extended by their sign,
// floating point numbers as their bits.
#pragma once

#include <cstdint>

#include "csl/syntax/tree.h"

namespace tensorpress::csl {

enum class Scalar : std::uint8_t { none, boolean, u8, u16, u32, u64, i8, i16, i32, i64, f16, f32 };

constexpr bool is_real(Scalar scalar) {
  return scalar == Scalar::f16 || scalar == Scalar::f32;
}
constexpr bool is_signed(Scalar scalar) {
  return scalar >= Scalar::i8 && scalar <= Scalar::i64;
}
constexpr unsigned bits_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::none:
      return 0;
    case Scalar::boolean:
      return 1;
    case Scalar::u8:
    case Scalar::i8:
      return 8;
    case Scalar::u16:
    case Scalar::i16:
    case Scalar::f16:
      return 16;
    case Scalar::u32:
    case Scalar::i32:
    case Scalar::f32:
      return 32;
    default:
      return 64;
  }
}
/// What it takes in SRAM: memory is words of 16 bits.
constexpr unsigned bytes_of(Scalar scalar) {
  const unsigned bits = bits_of(scalar);
  return bits <= 16 ? 2 : bits / 8;
}

/// Cut to the width of its type and extended again.
constexpr std::int64_t wrapped(Scalar scalar, std::int64_t value) {
  switch (scalar) {
    case Scalar::boolean:
      return value & 1;
    case Scalar::u8:
      return static_cast<std::uint8_t>(value);
    case Scalar::u16:
    case Scalar::f16:
      return static_cast<std::uint16_t>(value);
    case Scalar::u32:
    case Scalar::f32:
      return static_cast<std::uint32_t>(value);
    case Scalar::i8:
      return static_cast<std::int8_t>(value);
    case Scalar::i16:
      return static_cast<std::int16_t>(value);
    case Scalar::i32:
      return static_cast<std::int32_t>(value);
    default:
      return value;
  }
}

float real_of(Scalar scalar, std::int64_t bits);         // of f16 and f32
std::int64_t bits_of_real(Scalar scalar, double value);  // rounded to nearest even

/// Division by zero gives all ones, as no trap is documented.
std::int64_t computed(Operator op, Scalar scalar, std::int64_t a, std::int64_t b);
bool compared(Operator op, Scalar scalar, std::int64_t a, std::int64_t b);
/// @as: real to integer rounds towards zero, and what does not fit is clamped.
std::int64_t converted(Scalar from, Scalar to, std::int64_t value);

}  // namespace tensorpress::csl
