// fp8 against its definition: every code by the formula of the OCP specification, every float to
// the nearest of all codes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/fp8/fp8.h"
#include "kernels/magnitude/magnitude.h"

namespace tensorpress::kernels {
namespace {

struct Type {
  const char* name;
  int fraction_bits;
  int bias;
  bool has_infinity;
  Fp8Conversion (*conversion)(Isa);
};
constexpr Type kTypes[] = {{"e4m3", 3, 7, false, e4m3_conversion},
                           {"e5m2", 2, 15, true, e5m2_conversion}};

// NaN and infinity included.
double value_of(unsigned code, const Type& type) {
  const double sign = (code & 0x80u) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((code & 0x7Fu) >> type.fraction_bits);
  const int fraction = static_cast<int>(code & ((1u << type.fraction_bits) - 1));
  const int last_exponent = (0x7F >> type.fraction_bits);
  if (type.has_infinity && exponent == last_exponent) return fraction == 0 ? sign * HUGE_VAL : NAN;
  if (!type.has_infinity && (code & 0x7Fu) == 0x7F) return NAN;
  const double unit = std::ldexp(1.0, -type.fraction_bits);
  return exponent == 0 ? sign * std::ldexp(fraction * unit, 1 - type.bias)
                       : sign * std::ldexp(1 + fraction * unit, exponent - type.bias);
}

TEST(Fp8, EveryCodeHasTheValueOfItsFormulaOnEveryIsa) {
  for (const Type& type : kTypes) {
    for (const Isa isa : usable_isas()) {
      std::vector<std::uint8_t> codes(256);
      for (std::size_t i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i);
      std::vector<float> values(256);
      type.conversion(isa).widen(codes.data(), values.data(), 256);
      for (unsigned code = 0; code < 256; ++code) {
        const double expected = value_of(code, type);
        if (std::isnan(expected)) {
          EXPECT_TRUE(std::isnan(values[code])) << type.name << code;
        } else {
          EXPECT_EQ(expected, static_cast<double>(values[code])) << type.name << code;
          EXPECT_EQ(std::signbit(expected), std::signbit(values[code])) << type.name << code;
        }
      }
    }
  }
}

// The nearest finite code of the same sign; of two as near, the even one. Large values are limited
// first: doubles would not tell how far they are from each code.
std::uint8_t nearest_code(float value, const Type& type) {
  value = std::clamp(value, -1e6f, 1e6f);
  const unsigned sign = std::signbit(value) ? 0x80u : 0u;
  unsigned best = sign;
  for (unsigned code = sign; code < sign + 0x7F; ++code) {
    const double candidate = value_of(code, type);
    if (!std::isfinite(candidate)) break;
    const double distance = std::fabs(candidate - static_cast<double>(value));
    const double smallest = std::fabs(value_of(best, type) - static_cast<double>(value));
    if (distance < smallest || (distance == smallest && code % 2 == 0)) best = code;
  }
  return static_cast<std::uint8_t>(best);
}

TEST(Fp8, EveryFloatBecomesTheNearestCodeAndLargeOnesTheLargest) {
  std::mt19937 generator(1);
  for (const Type& type : kTypes) {
    std::vector<float> values = {0.0f, -0.0f, 1e30f, -1e30f, 3.4e38f, 1e-45f, 1e-30f};
    for (unsigned code = 0; code < 127; ++code) {  // ties and their neighbours
      const double middle = (value_of(code, type) + value_of(code + 1, type)) / 2;
      if (!std::isfinite(middle)) break;
      const auto tie = static_cast<float>(middle);
      for (const float near : {tie, std::nextafterf(tie, 0.0f), std::nextafterf(tie, 1e9f)}) {
        values.push_back(near);
        values.push_back(-near);
      }
    }
    for (int i = 0; i < 3000; ++i) {
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
      if (std::isfinite(value)) values.push_back(value);
      values.push_back(
          std::ldexp(static_cast<float>(generator()), -32 - static_cast<int>(generator() % 24)));
      values.push_back(
          std::ldexp(static_cast<float>(generator()), -17 - static_cast<int>(generator() % 8)));
    }
    for (const Isa isa : usable_isas()) {
      std::vector<std::uint8_t> codes(values.size());
      type.conversion(isa).narrow(values.data(), codes.data(), values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(nearest_code(values[i], type), codes[i]) << type.name << " " << values[i];
      }
    }
  }
}

TEST(Fp8, WhatIsNotFiniteStaysSo) {
  const std::vector<float> values = {NAN, -NAN, HUGE_VALF, -HUGE_VALF,
                                     std::bit_cast<float>(0x7F800001u)};
  for (const Type& type : kTypes) {
    for (const Isa isa : usable_isas()) {
      std::vector<float> many, back;
      for (int i = 0; i < 9; ++i) many.insert(many.end(), values.begin(), values.end());
      std::vector<std::uint8_t> codes(many.size());
      back.resize(many.size());
      type.conversion(isa).narrow(many.data(), codes.data(), many.size());
      type.conversion(isa).widen(codes.data(), back.data(), many.size());
      for (std::size_t i = 0; i < many.size(); ++i) {
        if (type.has_infinity && std::isinf(many[i])) {
          EXPECT_EQ(many[i], back[i]);
        } else {
          EXPECT_TRUE(std::isnan(back[i]));
        }
      }
    }
  }
}

TEST(LargestMagnitude, FindsWhatIsLargestOrNotANumberWhereverItStands) {
  for (const Isa isa : usable_isas()) {
    for (const float strange : {2.0f, -2.0f, HUGE_VALF, -NAN}) {
      for (std::size_t count = 1; count < 70; ++count) {
        std::vector<float> values(count, -1.5f);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(1.5f), largest_magnitude(isa)(values.data(), count));
        for (std::size_t at = 0; at < count; ++at) {
          values.assign(count, 1.0f);
          values[at] = strange;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(std::fabs(strange)),
                    largest_magnitude(isa)(values.data(), count));
        }
      }
    }
    EXPECT_EQ(0u, largest_magnitude(isa)(nullptr, 0));
  }
}

}  // namespace
}  // namespace tensorpress::kernels
