#include "csl/meaning/scalar.h"

#include <bit>
#include <cmath>

namespace tensorpress::csl {
namespace {

float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 31u;
  const std::uint32_t mantissa = half & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float small = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -small : small;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t half_of(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520.0) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);
  // The last bit of the result weighs 2^-24 at least.
  const int last = std::max(exponent - 11, -24);
  const double steps = std::nearbyint(std::ldexp(size, -last));
  if (last == -24) return static_cast<std::uint16_t>(sign | static_cast<unsigned>(steps));
  // steps lies in [1024, 2048]; 2048 carries into the exponent by itself.
  return static_cast<std::uint16_t>(
      sign | (((static_cast<unsigned>(last + 25) - 1) << 10) + static_cast<unsigned>(steps)));
}

}  // namespace

float real_of(Scalar scalar, std::int64_t bits) {
  if (scalar == Scalar::f16) return float_of_half(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

std::int64_t bits_of_real(Scalar scalar, double value) {
  if (scalar == Scalar::f16) return half_of(value);
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

std::int64_t computed(Operator op, Scalar scalar, std::int64_t a, std::int64_t b) {
  if (is_real(scalar)) {
    const float x = real_of(scalar, a), y = real_of(scalar, b);
    switch (op) {
      case Operator::add:
        return bits_of_real(scalar, x + y);
      case Operator::subtract:
        return bits_of_real(scalar, x - y);
      case Operator::multiply:
        return bits_of_real(scalar, x * y);
      case Operator::divide:
        return bits_of_real(scalar, x / y);
      case Operator::remainder:
        return bits_of_real(scalar, std::fmod(x, y));
      case Operator::negate:
        return a ^ (scalar == Scalar::f16 ? std::int64_t{0x8000} : std::int64_t{0x80000000});
      default:
        return 0;
    }
  }
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  const unsigned bits = bits_of(scalar);
  std::uint64_t result = 0;
  switch (op) {
    case Operator::add:
      result = x + y;
      break;
    case Operator::subtract:
      result = x - y;
      break;
    case Operator::multiply:
      result = x * y;
      break;
    case Operator::divide:
    case Operator::remainder:
      if (b == 0) {
        result = ~std::uint64_t{0};
      } else if (is_signed(scalar)) {
        if (b == -1) {  // also the smallest number, which has no positive
          result = op == Operator::divide ? 0 - x : 0;
        } else {
          result = static_cast<std::uint64_t>(op == Operator::divide ? a / b : a % b);
        }
      } else {
        result = op == Operator::divide ? x / y : x % y;
      }
      break;
    case Operator::bit_and:
      result = x & y;
      break;
    case Operator::bit_or:
      result = x | y;
      break;
    case Operator::bit_xor:
      result = x ^ y;
      break;
    case Operator::shift_left:
      result = y < bits ? x << y : 0;
      break;
    case Operator::shift_right:
      if (is_signed(scalar)) return wrapped(scalar, a >> (y < bits ? y : bits - 1));
      result = y < bits ? x >> y : 0;
      break;
    case Operator::negate:
      result = 0 - x;
      break;
    case Operator::bit_not:
      result = ~x;
      break;
    case Operator::logical_not:
      result = x == 0 ? 1 : 0;
      break;
    default:
      break;
  }
  return wrapped(scalar, static_cast<std::int64_t>(result));
}

bool compared(Operator op, Scalar scalar, std::int64_t a, std::int64_t b) {
  const auto decide = [op](auto x, auto y) {
    switch (op) {
      case Operator::equal:
        return x == y;
      case Operator::not_equal:
        return x != y;
      case Operator::less:
        return x < y;
      case Operator::less_equal:
        return x <= y;
      case Operator::greater:
        return x > y;
      default:
        return x >= y;
    }
  };
  if (is_real(scalar)) return decide(real_of(scalar, a), real_of(scalar, b));
  if (is_signed(scalar)) return decide(a, b);
  return decide(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
}

std::int64_t converted(Scalar from, Scalar to, std::int64_t value) {
  if (to == Scalar::boolean) {
    return is_real(from) ? !(real_of(from, value) == 0.0f) : value != 0;
  }
  if (is_real(from) && is_real(to)) return bits_of_real(to, real_of(from, value));
  if (is_real(from)) {
    const double whole = std::trunc(static_cast<double>(real_of(from, value)));
    if (std::isnan(whole)) return 0;
    const unsigned bits = bits_of(to);
    const double most = std::ldexp(1.0, static_cast<int>(is_signed(to) ? bits - 1 : bits));
    const double least = is_signed(to) ? -most : 0.0;
    if (whole <= least)
      return wrapped(to, is_signed(to) ? -static_cast<std::int64_t>(most / 2) * 2 : 0);
    if (whole >= most) {
      return wrapped(
          to, is_signed(to) ? static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1) : -1);
    }
    if (whole >= 9223372036854775808.0)
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(whole));
    return wrapped(to, static_cast<std::int64_t>(whole));
  }
  if (is_real(to)) {
    return from == Scalar::u64
               ? bits_of_real(to, static_cast<double>(static_cast<std::uint64_t>(value)))
               : bits_of_real(to, static_cast<double>(value));
  }
  return wrapped(to, value);
}

}  // namespace tensorpress::csl
