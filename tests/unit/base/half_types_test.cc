// f16 and bf16 against the definitions of the formats: exhaustively over all bit patterns, and at
// every tie between neighbours.
#include "base/tensor/half_types.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tensorpress {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The value of a finite f16 by the definition of the format.
double defined_f16(std::uint32_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>((bits >> 10) & 31);
  const int fraction = static_cast<int>(bits & 1023);
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

bool is_nan_pattern(std::uint32_t bits, std::uint32_t infinity) {
  return (bits & 0x7FFF) > infinity;
}

TEST(F16, WidensEveryFinitePatternToItsDefinedValue) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    if ((bits & 0x7C00) == 0x7C00) continue;
    const float wide = f16_to_float(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(static_cast<double>(wide), defined_f16(bits)) << bits;
    ASSERT_EQ(std::signbit(wide), bits >= 0x8000) << bits;
  }
}

TEST(F16, WidensInfinitiesAndNans) {
  EXPECT_EQ(f16_to_float(0x7C00), kInfinity);
  EXPECT_EQ(f16_to_float(0xFC00), -kInfinity);
  for (std::uint32_t bits = 0x7C01; bits < 0x8000; ++bits) {
    ASSERT_TRUE(std::isnan(f16_to_float(static_cast<std::uint16_t>(bits)))) << bits;
  }
}

TEST(F16, EveryPatternSurvivesWideningAndNarrowing) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(float_to_f16(f16_to_float(half)), half);
  }
}

// Every pair of finite neighbours, and 65504 with 65536, which stands where infinity begins.
TEST(F16, RoundsToNearestAndTiesToEvenBetweenAllNeighbours) {
  for (std::uint32_t below = 0; below < 0x7C00; ++below) {
    const std::uint32_t above = below + 1;
    const double next = above == 0x7C00 ? 65536.0 : defined_f16(above);
    const auto middle = static_cast<float>((defined_f16(below) + next) / 2);  // exact in float
    const std::uint32_t even = below % 2 == 0 ? below : above;
    ASSERT_EQ(float_to_f16(middle), even) << below;
    ASSERT_EQ(float_to_f16(std::nextafter(middle, 0.0f)), below) << below;
    ASSERT_EQ(float_to_f16(std::nextafter(middle, kInfinity)), above) << below;
    ASSERT_EQ(float_to_f16(-middle), even | 0x8000) << below;
  }
}

TEST(F16, BeyondTheLargestLiesInfinity) {
  EXPECT_EQ(float_to_f16(65519.996f), 0x7BFF);  // the float below 65520
  EXPECT_EQ(float_to_f16(65520.0f), 0x7C00);
  EXPECT_EQ(float_to_f16(-1e30f), 0xFC00);
  EXPECT_EQ(float_to_f16(kInfinity), 0x7C00);
}

TEST(F16, TinyValuesBecomeZeroOfTheirSign) {
  EXPECT_EQ(float_to_f16(0x1p-26f), 0x0000);
  EXPECT_EQ(float_to_f16(-0x1p-26f), 0x8000);
  EXPECT_EQ(float_to_f16(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(float_to_f16(-0.0f), 0x8000);
}

TEST(F16, NanWhosePayloadDoesNotFitStaysNan) {
  const auto low_payload = std::bit_cast<float>(0x7F800001u);
  EXPECT_TRUE(is_nan_pattern(float_to_f16(low_payload), 0x7C00));
  EXPECT_TRUE(is_nan_pattern(float_to_f16(std::numeric_limits<float>::quiet_NaN()), 0x7C00));
}

TEST(Bf16, EveryPatternSurvivesWideningAndNarrowing) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(bf16_to_float(half)), bits << 16);
    ASSERT_EQ(float_to_bf16(bf16_to_float(half)), half);
  }
}

TEST(Bf16, RoundsToNearestAndTiesToEvenBetweenAllNeighbours) {
  for (std::uint32_t below = 0; below < 0x7F80; ++below) {
    // The middle of two neighbours has their common high bits and then 1000...: half a step.
    const auto middle = std::bit_cast<float>((below << 16) | 0x8000u);
    const std::uint32_t even = below % 2 == 0 ? below : below + 1;
    ASSERT_EQ(float_to_bf16(middle), even) << below;
    ASSERT_EQ(float_to_bf16(std::nextafter(middle, 0.0f)), below) << below;
    ASSERT_EQ(float_to_bf16(std::nextafter(middle, kInfinity)), below + 1) << below;
    ASSERT_EQ(float_to_bf16(-middle), even | 0x8000) << below;
  }
}

TEST(Bf16, NanWhosePayloadDoesNotFitStaysNan) {
  EXPECT_TRUE(is_nan_pattern(float_to_bf16(std::bit_cast<float>(0x7F800001u)), 0x7F80));
  EXPECT_TRUE(is_nan_pattern(float_to_bf16(std::bit_cast<float>(0x7FFFFFFFu)), 0x7F80));
  EXPECT_TRUE(is_nan_pattern(float_to_bf16(std::bit_cast<float>(0xFFFFFFFFu)), 0x7F80));
}

}  // namespace
}  // namespace tensorpress
