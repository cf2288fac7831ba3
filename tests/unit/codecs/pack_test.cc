// The promises of tensorpress/pack.h that have one answer; pack_property.cc has those over many
// values.
#include "tensorpress/pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "unit/codecs/pack_samples.h"

namespace tensorpress {
namespace {

using samples::elements;
using samples::floats;
using samples::packed;
using samples::round_trip;
using samples::unpacked;

TEST(PackQuantize, SizesAreFourBytesAGroupAndWholeBlocksOf32Bytes) {
  EXPECT_EQ(packed_size(0, QuantizeOptions{}).value(), 0u);
  EXPECT_EQ(packed_size(1, QuantizeOptions{}).value(), 36u);
  EXPECT_EQ(packed_size(256, QuantizeOptions{}).value(), 132u);
  EXPECT_EQ(packed_size(257, QuantizeOptions{}).value(), 132u + 36u);
  EXPECT_EQ(packed_size(1 << 20, QuantizeOptions{.bits = 2}).value(), 4096u * 68u);
  EXPECT_EQ(packed_size(1 << 20, QuantizeOptions{.bits = 1}).value(), 4096u * 36u);
  EXPECT_EQ(packed_size(96, QuantizeOptions{.bits = 8, .group = 96}).value(), 100u);
  // 256 values are 32 rows of 8 columns: 3, 5 and 6 words of each column.
  EXPECT_EQ(packed_size(1 << 20, QuantizeOptions{.bits = 3}).value(), 4096u * (4 + 3 * 32));
  EXPECT_EQ(packed_size(1 << 20, QuantizeOptions{.bits = 5}).value(), 4096u * (4 + 5 * 32));
  EXPECT_EQ(packed_size(1 << 20, QuantizeOptions{.bits = 6}).value(), 4096u * (4 + 6 * 32));
  EXPECT_EQ(packed_size(81, QuantizeOptions{.bits = 3}).value(), 4u + 2 * 32);  // 11 rows, 33 bits
  EXPECT_EQ(packed_size(80, QuantizeOptions{.bits = 3}).value(), 4u + 32);
}

TEST(PackQuantize, ZerosOfARectifiedGroupStayZero) {
  const auto values = samples::rectified_values(10000);
  for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
    for (const Rounding rounding : {Rounding::nearest, Rounding::stochastic}) {
      if (bits == 1 && rounding == Rounding::nearest) continue;  // two means: not promised
      const auto back = round_trip(values, QuantizeOptions{.bits = bits, .rounding = rounding});
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == 0) {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), 0u) << bits << " " << i;
        }
        ASSERT_GE(back[i], 0.0f);
      }
    }
  }
}

TEST(PackQuantize, WholeNumbersOnTheGridComeBackExactly) {
  std::vector<float> values(512);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 256) - 100;
  for (const Rounding rounding : {Rounding::nearest, Rounding::stochastic}) {
    EXPECT_EQ(values, round_trip(values, QuantizeOptions{.bits = 8, .rounding = rounding}));
  }
}

TEST(PackQuantize, EqualValuesComeBackWithinTheirHeadersPrecision) {
  for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
    for (const Rounding rounding : {Rounding::nearest, Rounding::stochastic}) {
      for (const float value : {0.0f, 1.0f, -3.5f, 1024.0f, 0.1f, -273.15f, 3e38f, 1e-30f}) {
        const std::vector<float> values(300, value);
        const auto back = round_trip(values, QuantizeOptions{.bits = bits, .rounding = rounding});
        const bool short_fraction = (std::bit_cast<std::uint32_t>(value) & 0x1FFFu) == 0;
        for (const float decoded : back) {
          ASSERT_NEAR(decoded, value, std::fabs(value) * (short_fraction ? 0 : 0x1p-10f)) << bits;
        }
      }
    }
  }
}

TEST(PackQuantize, OneBitKeepsTheMeansOnBothSidesOfTheMean) {
  const auto values = samples::normal_values(256);
  double mean = 0;
  for (const float value : values) mean += value / 256.0;
  double low = 0, high = 0, above = 0;
  for (const float value : values) {
    (value > mean ? high : low) += value;
    above += value > mean ? 1 : 0;
  }
  high /= above;
  low /= 256 - above;
  const auto back = round_trip(values, QuantizeOptions{.bits = 1});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = values[i] > mean ? high : low;
    ASSERT_NEAR(back[i], expected, std::fabs(low) * 0x1p-10 + (high - low) * 0x1p-6) << i;
  }
}

TEST(PackQuantize, WhatCannotBeCodedIsSaidAndNotHidden) {
  const float huge = std::numeric_limits<float>::max();
  for (const float strange : {NAN, HUGE_VALF, -HUGE_VALF, huge}) {
    auto values = samples::normal_values(1000);
    values[700] = strange;
    values[701] = strange == huge ? -huge : 0;
    for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
      for (const Rounding rounding : {Rounding::nearest, Rounding::stochastic}) {
        if (strange == huge && bits == 1 && rounding == Rounding::nearest) continue;  // means fit
        const QuantizeOptions options{.bits = bits, .rounding = rounding};
        std::vector<std::byte> bytes(packed_size(1000, options).value());
        EXPECT_EQ(pack(values, options, bytes).value(), PackOutcome::not_representable) << strange;
      }
    }
  }
}

TEST(PackQuantize, FiniteHalvesStayFinite) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    std::vector<std::byte> values(600);
    const std::uint16_t largest = dtype == DType::f16 ? 0x7BFF : 0x7F00;
    for (std::size_t i = 0; i < 300; ++i) {
      const auto bits = static_cast<std::uint16_t>(i % 2 == 0 ? largest : i);
      std::memcpy(values.data() + 2 * i, &bits, 2);
    }
    for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
      const QuantizeOptions options{.bits = bits, .rounding = Rounding::stochastic};
      const auto back =
          floats(dtype, unpacked(dtype, packed(dtype, values, options), options, 300));
      ASSERT_EQ(back.size(), 300u);
      for (const float value : back) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

TEST(PackQuantize, PartsPackedByThreadsAreTheWholesBytes) {
  const auto values = elements(DType::f32, samples::normal_values(100000));
  const QuantizeOptions whole{.bits = 2, .rounding = Rounding::stochastic, .seed = 5};
  const auto expected = packed(DType::f32, values, whole);
  std::vector<std::byte> bytes(expected.size());
  const std::size_t cut = granularity(whole) * 123;
  std::vector<std::thread> threads;
  for (const std::size_t begin : {std::size_t{0}, cut}) {
    threads.emplace_back([&, begin] {
      const std::size_t end = begin == 0 ? cut : 100000;
      QuantizeOptions part = whole;
      part.first_element = begin;
      const std::size_t at = packed_size(begin, whole).value();
      const std::size_t size = packed_size(end - begin, whole).value();
      (void)pack(DType::f32, std::span(values).subspan(4 * begin, 4 * (end - begin)), part,
                 std::span(bytes).subspan(at, size));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(expected, bytes);
}

TEST(PackQuantize, SeedsAndPlacesRoundDifferently) {
  const auto values = elements(DType::f32, samples::normal_values(4096));
  const auto bytes_with = [&](std::uint64_t seed, std::uint64_t first) {
    return packed(
        DType::f32, values,
        QuantizeOptions{.rounding = Rounding::stochastic, .seed = seed, .first_element = first});
  };
  EXPECT_EQ(bytes_with(1, 0), bytes_with(1, 0));
  EXPECT_NE(bytes_with(1, 0), bytes_with(2, 0));
  EXPECT_NE(bytes_with(1, 0), bytes_with(1, 4096));
  EXPECT_NE(bytes_with(1, 0), bytes_with(1, std::uint64_t{1} << 40));
}

TEST(PackQuantize, AnyBytesUnpackToSomething) {
  std::mt19937 generator(3);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
      const QuantizeOptions options{.bits = bits};
      std::vector<std::byte> bytes(packed_size(1000, options).value());
      for (auto& byte : bytes) byte = static_cast<std::byte>(generator());
      EXPECT_EQ(unpacked(dtype, bytes, options, 1000, Stores::past_cache).size(),
                1000 * size_of(dtype));
    }
  }
}

TEST(PackCast, SaysWhenAValueDoesNotFitTheType) {
  for (const auto& [to, largest] :
       {std::pair{CastType::f16, 65504.0f}, std::pair{CastType::e4m3, 448.0f},
        std::pair{CastType::e5m2, 57344.0f}, std::pair{CastType::bf16, 0x1.FEp127f}}) {
    const CastOptions options{.to = to};
    std::vector<float> values(3000, 1.5f);
    values[2999] = -largest;
    std::vector<std::byte> bytes(packed_size(values.size(), options).value());
    EXPECT_EQ(pack(values, options, bytes).value(), PackOutcome::packed);
    EXPECT_EQ(values, round_trip(values, options));
    for (const float strange : {std::nextafterf(largest, HUGE_VALF), HUGE_VALF, NAN}) {
      values[2999] = strange;
      EXPECT_EQ(pack(values, options, bytes).value(), PackOutcome::not_representable) << strange;
    }
  }
}

TEST(PackCast, GoesFromHalvesToFp8AndBack) {
  const auto numbers = samples::normal_values(5000);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const CastType to : {CastType::e4m3, CastType::e5m2}) {
      const CastOptions options{.to = to};
      const auto values = elements(dtype, numbers);
      const auto once = unpacked(dtype, packed(dtype, values, options), options, 5000);
      const auto exact = floats(dtype, values), back = floats(dtype, once);
      const float share = to == CastType::e4m3 ? 0x1p-4f : 0x1p-3f;
      for (std::size_t i = 0; i < 5000; ++i) {
        ASSERT_NEAR(exact[i], back[i], std::fabs(exact[i]) * share + 0x1p-10f);
      }
      EXPECT_EQ(once, unpacked(dtype, packed(dtype, once, options), options, 5000));
    }
  }
}

TEST(PackMask, HoldsZeroAndOneOtherPatternOfAnyTypeExactly) {
  for (const float other : {1.0f, 1.25f, -0.0f, NAN, HUGE_VALF}) {
    auto values = samples::rectified_values(777);
    for (auto& value : values) value = value > 0 ? other : 0.0f;
    const auto bytes = elements(DType::f32, values);
    const auto bits = packed(DType::f32, bytes, MaskOptions{});
    ASSERT_EQ(bits.size(), 8u + 98u);
    EXPECT_EQ(bytes, unpacked(DType::f32, bits, MaskOptions{}, 777));
  }
  const std::vector<std::byte> zeros(500), empty;
  EXPECT_EQ(zeros,
            unpacked(DType::u8, packed(DType::u8, zeros, MaskOptions{}), MaskOptions{}, 500));
  EXPECT_EQ(packed(DType::f64, empty, MaskOptions{}).size(), 8u);
}

TEST(PackMask, RefusesAThirdValue) {
  std::vector<float> values(100, 2.0f);
  values[50] = 0;
  values[99] = -2.0f;
  std::vector<std::byte> bytes(packed_size(100, MaskOptions{}).value());
  EXPECT_EQ(pack(values, MaskOptions{}, bytes).value(), PackOutcome::not_representable);
}

TEST(PackSigns, ARectifiersMaskSurvivesTwoBitQuantization) {
  const auto values = samples::rectified_values(5000);
  const QuantizeOptions options{.bits = 2};
  auto lossy = round_trip(values, options);
  const auto signs = packed(DType::f32, elements(DType::f32, values), SignOptions{});
  ASSERT_EQ(signs.size(), 625u);
  std::size_t lost = 0;
  for (std::size_t i = 0; i < values.size(); ++i) lost += (values[i] > 0) != (lossy[i] > 0) ? 1 : 0;
  EXPECT_GT(lost, 100u);
  ASSERT_TRUE(restore_signs(DType::f32, signs, std::as_writable_bytes(std::span(lossy))).ok());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i] > 0, lossy[i] > 0);
  // A product with a gradient must not be subnormal: convolutions took twice as long.
  for (const float value : lossy) ASSERT_TRUE(value <= 0 || value >= 0x1p-63f);
  const auto ones = floats(DType::f32, unpacked(DType::f32, signs, SignOptions{}, 5000));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(ones[i], values[i] > 0 ? 1.0f : 0.0f);
}

TEST(Pack, WrongArgumentsAreErrorsThatSayWhatIsAllowed) {
  std::vector<float> values(100);
  std::vector<std::byte> bytes(1000);
  const auto as_bytes = std::as_bytes(std::span(values));
  const auto message = [](const auto& result) {
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_NE(message(packed_size(1, QuantizeOptions{.bits = 7})).find("5, 6 or 8"),
            std::string::npos);
  for (const std::size_t group : {0ul, 100ul, 65536ul + 64ul}) {
    EXPECT_NE(message(packed_size(1, QuantizeOptions{.group = group})).find("multiple of 64"),
              std::string::npos);
  }
  EXPECT_NE(message(pack(values, QuantizeOptions{.first_element = 1}, bytes)).find("first_element"),
            std::string::npos);
  EXPECT_NE(message(pack(values, QuantizeOptions{}, bytes)).find("packed_size"), std::string::npos);
  EXPECT_NE(message(pack(DType::u8, as_bytes, QuantizeOptions{}, bytes)).find("u8"),
            std::string::npos);
  EXPECT_NE(message(pack(DType::f16, as_bytes, CastOptions{}, bytes)).find("f16"),
            std::string::npos);
  EXPECT_NE(
      message(pack(DType::f32, as_bytes.subspan(1, 8), SignOptions{}, std::span(bytes).first(1)))
          .find("aligned"),
      std::string::npos);
  EXPECT_NE(message(pack(DType::f32, as_bytes.first(7), SignOptions{}, std::span(bytes).first(1)))
                .find("multiple"),
            std::string::npos);
  EXPECT_FALSE(packed_size(SIZE_MAX, QuantizeOptions{}).ok());
  EXPECT_FALSE(packed_size(SIZE_MAX, CastOptions{}).ok());
  EXPECT_FALSE(packed_size(SIZE_MAX, MaskOptions{}).ok());
  EXPECT_FALSE(pack(static_cast<DType>(99), as_bytes, MaskOptions{}, bytes).ok());
  EXPECT_FALSE(packed_size(1, CastOptions{.to = static_cast<CastType>(9)}).ok());
  EXPECT_FALSE(restore_signs(DType::f64, std::span(bytes).first(7),
                             std::as_writable_bytes(std::span(values)))
                   .ok());
}

}  // namespace
}  // namespace tensorpress
