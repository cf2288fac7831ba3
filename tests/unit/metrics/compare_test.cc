// Error statistics against their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "metrics/metrics.h"

namespace tensorpress::metrics {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class T>
TensorView view(const std::vector<T>& values, DType dtype, const Shape& shape) {
  return TensorView::contiguous(reinterpret_cast<const std::byte*>(values.data()), dtype, shape);
}

ErrorStatistics compare_f32(const std::vector<float>& original, const std::vector<float>& copy) {
  const auto result =
      compare(view(original, DType::f32, {original.size()}), view(copy, DType::f32, {copy.size()}));
  EXPECT_TRUE(result.ok());
  return *result;
}

TEST(Compare, SmallExampleByHand) {
  const auto statistics = compare_f32({1, 2, 3, 5}, {1, 2.5f, 3, 4});
  EXPECT_EQ(statistics.count, 4u);
  EXPECT_EQ(statistics.nonfinite, 0u);
  EXPECT_EQ(statistics.minimum, 1);
  EXPECT_EQ(statistics.maximum, 5);
  EXPECT_EQ(statistics.value_range(), 4);
  EXPECT_EQ(statistics.max_abs_error, 1);
  EXPECT_EQ(statistics.squared_error.sum, 1.25);
  EXPECT_EQ(statistics.max_rel_error(), 0.25);
  EXPECT_DOUBLE_EQ(statistics.l2_error(), std::sqrt(1.25));
  EXPECT_EQ(statistics.rmse(), std::sqrt(0.3125));
  EXPECT_DOUBLE_EQ(statistics.nrmse(), std::sqrt(0.3125) / 4);
  EXPECT_DOUBLE_EQ(statistics.psnr_db(), 20 * std::log10(4 / std::sqrt(0.3125)));
}

TEST(Compare, ErrorsOfARangeWiderThanAnyDoubleAreNotNothing) {
  const std::vector<double> original = {-1.7e308, 1.7e308}, copy = {-1.7e308, 1.6e308};
  const auto result = compare(view(original, DType::f64, {2}), view(copy, DType::f64, {2}));
  ASSERT_TRUE(result.ok());
  EXPECT_NEAR(result->max_rel_error(), 1e307 / 1.797e308, 1e-3);
}

// Each error is an eighth of the range in every second of 3000 elements, in whatever unit.
TEST(Compare, ErrorsWhoseSquaresAreNoDoublesAreMeasured) {
  for (const double unit : {1e-300, 1e-160, 1e-130, 1.0, 1e130, 1e160, 1e300}) {
    std::vector<double> original(3000), copy(3000);
    for (std::size_t i = 0; i < original.size(); ++i) {
      original[i] = i % 4 == 0 ? 8 * unit : 0;
      copy[i] = original[i] + (i % 2 == 0 ? unit : 0);
    }
    const auto result = compare(view(original, DType::f64, {3000}), view(copy, DType::f64, {3000}));
    ASSERT_TRUE(result.ok());
    EXPECT_NEAR(result->nrmse(), std::sqrt(0.5) / 8, 1e-12) << unit;
    EXPECT_NEAR(result->psnr_db(), 20 * std::log10(8 / std::sqrt(0.5)), 1e-9) << unit;
    EXPECT_NEAR(result->l2_error() / unit, std::sqrt(1500), 1e-9) << unit;
  }
}

TEST(Compare, LargeErrorsCountBesideVanishingOnes) {
  std::vector<double> original(4096), copy(4096);
  for (std::size_t i = 0; i < copy.size(); ++i) copy[i] = i < 2048 ? 1e-200 : 3;
  for (const bool reversed : {false, true}) {
    if (reversed) std::ranges::reverse(copy);
    const auto result = compare(view(original, DType::f64, {4096}), view(copy, DType::f64, {4096}));
    ASSERT_TRUE(result.ok());
    EXPECT_NEAR(result->rmse(), 3 * std::sqrt(0.5), 1e-12);
  }
}

TEST(Compare, FillValuesAreMissingAndMustComeBackBitForBit) {
  const std::vector<float> original = {1, -1e34f, 3, -1e34f};
  const std::vector<double> fills = {-1e34};
  const std::vector<float> good = {1.5f, -1e34f, 3, -1e34f}, bad = {1.5f, -1e34f, 3, -9.9e33f};
  const auto seen = [&](const std::vector<float>& copy) {
    return *compare(view(original, DType::f32, {4}), view(copy, DType::f32, {4}), fills);
  };
  EXPECT_EQ(seen(good).nonfinite, 2u);
  EXPECT_EQ(seen(good).value_range(), 2);
  EXPECT_EQ(seen(good).max_abs_error, 0.5);
  EXPECT_EQ(seen(good).rmse(), std::sqrt(0.125));
  EXPECT_EQ(seen(good).mismatched_nonfinite, 0u);
  EXPECT_EQ(seen(bad).mismatched_nonfinite, 1u);
}

// 8-bit pictures with an error of 1 everywhere and the full range: 20 log10(255) = 48.13 dB.
TEST(Compare, PsnrOfOneStepInEightBits) {
  std::vector<std::uint8_t> original(256);
  std::vector<std::uint8_t> copy(256);
  for (std::size_t i = 0; i < 256; ++i) {
    original[i] = static_cast<std::uint8_t>(i);
    copy[i] = static_cast<std::uint8_t>(i ^ 1);
  }
  const auto statistics =
      compare(view(original, DType::u8, {16, 16}), view(copy, DType::u8, {16, 16}));
  ASSERT_TRUE(statistics.ok());
  EXPECT_NEAR(statistics->psnr_db(), 48.1308, 1e-4);
}

TEST(Compare, PerfectCopyHasNoErrorAndInfinitePsnr) {
  const auto statistics = compare_f32({1, 2, 3}, {1, 2, 3});
  EXPECT_EQ(statistics.max_abs_error, 0);
  EXPECT_EQ(statistics.max_rel_error(), 0);
  EXPECT_EQ(statistics.nrmse(), 0);
  EXPECT_EQ(statistics.psnr_db(), std::numeric_limits<double>::infinity());
}

TEST(Compare, ConstantOriginalHasNoRange) {
  const auto equal = compare_f32({7, 7}, {7, 7});
  EXPECT_EQ(equal.value_range(), 0);
  EXPECT_EQ(equal.max_rel_error(), 0);
  const auto different = compare_f32({7, 7}, {7, 8});
  EXPECT_EQ(different.max_rel_error(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(different.psnr_db(), -std::numeric_limits<double>::infinity());
}

TEST(Compare, EmptyAndScalarTensors) {
  const auto empty = compare_f32({}, {});
  EXPECT_EQ(empty.count, 0u);
  EXPECT_EQ(empty.value_range(), 0);
  EXPECT_EQ(empty.rmse(), 0);
  const std::vector<float> one = {-3};
  const auto scalar = compare(view(one, DType::f32, {}), view(one, DType::f32, {}));
  ASSERT_TRUE(scalar.ok());
  EXPECT_EQ(scalar->count, 1u);
  EXPECT_EQ(scalar->minimum, -3);
  EXPECT_EQ(scalar->maximum, -3);
}

TEST(Compare, NonfiniteOriginalsAreCountedAndLeftOut) {
  const auto statistics =
      compare_f32({kNan, 1, kInfinity, 3, -kInfinity, kNan}, {kNan, 2, kInfinity, 3, kInfinity, 5});
  EXPECT_EQ(statistics.count, 6u);
  EXPECT_EQ(statistics.nonfinite, 4u);
  EXPECT_EQ(statistics.mismatched_nonfinite, 2u);
  EXPECT_EQ(statistics.minimum, 1);
  EXPECT_EQ(statistics.maximum, 3);
  EXPECT_EQ(statistics.max_abs_error, 1);
  EXPECT_EQ(statistics.squared_error.sum, 1);
  EXPECT_EQ(statistics.rmse(), std::sqrt(0.5));  // two finite elements
}

TEST(Compare, NansAreTheSameOnlyBitForBit) {
  const float other_nan = std::bit_cast<float>(0x7FC00001u);
  const float signalling = std::bit_cast<float>(0x7F800001u);
  const auto statistics = compare_f32({kNan, other_nan, signalling}, {other_nan, other_nan, kNan});
  EXPECT_EQ(statistics.nonfinite, 3u);
  EXPECT_EQ(statistics.mismatched_nonfinite, 2u);
}

TEST(Compare, NonfiniteCopyOfAFiniteValueIsAnInfiniteError) {
  for (const float wrong : {kNan, kInfinity}) {
    const auto statistics = compare_f32({1, 2, 4}, {1, 2, wrong});
    EXPECT_EQ(statistics.nonfinite, 0u);
    EXPECT_EQ(statistics.mismatched_nonfinite, 1u);
    EXPECT_EQ(statistics.maximum, 4);
    EXPECT_EQ(statistics.max_abs_error, std::numeric_limits<double>::infinity());
    EXPECT_EQ(statistics.l2_error(), std::numeric_limits<double>::infinity());
  }
}

TEST(Compare, OnlyNonfiniteValuesHaveNoRange) {
  const auto statistics = compare_f32({kNan, kNan}, {kNan, kNan});
  EXPECT_EQ(statistics.minimum, 0);
  EXPECT_EQ(statistics.maximum, 0);
  EXPECT_EQ(statistics.rmse(), 0);
}

// Around the block of 1024 and the lanes of 8: i against i + 1/4 at every third element, NaN in
// both at element 5. Everything is exact in double.
TEST(Compare, EveryLengthAroundBlocksAndLanes) {
  for (const std::size_t count :
       {6u, 7u, 8u, 9u, 1023u, 1024u, 1025u, 1032u, 2048u, 2049u, 5000u}) {
    std::vector<float> original(count);
    std::vector<float> copy(count);
    double squared = 0;
    for (std::size_t i = 0; i < count; ++i) {
      original[i] = copy[i] = static_cast<float>(i);
      if (i % 3 == 0) {
        copy[i] += 0.25f;
        squared += 0.0625;
      }
    }
    original[5] = copy[5] = kNan;
    const auto statistics = compare_f32(original, copy);
    EXPECT_EQ(statistics.count, count);
    EXPECT_EQ(statistics.nonfinite, 1u) << count;
    EXPECT_EQ(statistics.mismatched_nonfinite, 0u) << count;
    EXPECT_EQ(statistics.minimum, 0) << count;
    EXPECT_EQ(statistics.maximum, static_cast<double>(count == 6 ? 4 : count - 1)) << count;
    EXPECT_EQ(statistics.max_abs_error, 0.25) << count;
    EXPECT_EQ(statistics.squared_error.sum, squared) << count;
  }
}

TEST(Compare, AllTypesAreComparedByValue) {
  // 1.5 and -2 against 1.25 and -2
  const auto expect = [](const TensorView& original, const TensorView& copy) {
    const auto statistics = compare(original, copy);
    ASSERT_TRUE(statistics.ok());
    EXPECT_EQ(statistics->minimum, -2);
    EXPECT_EQ(statistics->maximum, 1.5);
    EXPECT_EQ(statistics->max_abs_error, 0.25);
  };
  const std::vector<double> f64[] = {{1.5, -2}, {1.25, -2}};
  expect(view(f64[0], DType::f64, {2}), view(f64[1], DType::f64, {2}));
  const std::vector<std::uint16_t> f16[] = {{0x3E00, 0xC000}, {0x3D00, 0xC000}};
  expect(view(f16[0], DType::f16, {2}), view(f16[1], DType::f16, {2}));
  const std::vector<std::uint16_t> bf16[] = {{0x3FC0, 0xC000}, {0x3FA0, 0xC000}};
  expect(view(bf16[0], DType::bf16, {2}), view(bf16[1], DType::bf16, {2}));

  const std::vector<std::int16_t> i16[] = {{-32768, 32767}, {32767, 32767}};
  const auto extremes = compare(view(i16[0], DType::i16, {2}), view(i16[1], DType::i16, {2}));
  ASSERT_TRUE(extremes.ok());
  EXPECT_EQ(extremes->max_abs_error, 65535);
}

// A transposed view against its packed copy, larger than a block.
TEST(Compare, StridesDoNotMatter) {
  const Shape shape{70, 50};
  std::vector<double> packed(70 * 50);
  std::vector<double> transposed(50 * 70);
  for (std::size_t i = 0; i < 70; ++i) {
    for (std::size_t j = 0; j < 50; ++j) {
      packed[i * 50 + j] = transposed[j * 70 + i] = 0.1 * static_cast<double>(i * i + 3 * j);
    }
  }
  auto turned = view(transposed, DType::f64, {50, 70});
  turned.shape = shape;
  std::swap(turned.strides[0], turned.strides[1]);
  const auto same = compare(turned, view(packed, DType::f64, shape));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->count, 3500u);
  EXPECT_EQ(same->max_abs_error, 0);
  EXPECT_DOUBLE_EQ(same->maximum, 0.1 * (69 * 69 + 3 * 49));

  std::vector<double> zeros(packed.size());
  const auto strided = compare(turned, view(zeros, DType::f64, shape));
  const auto contiguous = compare(view(packed, DType::f64, shape), view(zeros, DType::f64, shape));
  ASSERT_TRUE(strided.ok() && contiguous.ok());
  EXPECT_EQ(strided->squared_error, contiguous->squared_error);  // bit for bit
}

TEST(Compare, PartsMergeToTheWhole) {
  const std::vector<float> original = {5, kNan, 1, 2, 3, 9};
  const std::vector<float> copy = {5, kNan, 1.5f, 2, 3, 8};
  const auto whole = compare_f32(original, copy);
  ErrorStatistics merged;
  for (std::size_t i = 0; i < original.size(); ++i) {
    merged.merge(compare_f32({original[i]}, {copy[i]}));
  }
  EXPECT_EQ(merged.count, whole.count);
  EXPECT_EQ(merged.nonfinite, whole.nonfinite);
  EXPECT_EQ(merged.minimum, 1);
  EXPECT_EQ(merged.maximum, 9);
  EXPECT_EQ(merged.max_abs_error, 1);
  EXPECT_EQ(merged.squared_error.sum, 1.25);
}

TEST(Compare, DifferentShapesOrTypesAreAnError) {
  const std::vector<float> values(6);
  const auto shapes = compare(view(values, DType::f32, {2, 3}), view(values, DType::f32, {3, 2}));
  ASSERT_FALSE(shapes.ok());
  EXPECT_EQ(shapes.error().code, ErrorCode::bad_argument);
  EXPECT_FALSE(compare(view(values, DType::f16, {6}), view(values, DType::bf16, {6})).ok());
}

}  // namespace
}  // namespace tensorpress::metrics
