// The quantizing kernels on every instruction set against their plain versions, and the plain
// versions' pieces against arithmetic in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/quantize/group_scale.h"
#include "kernels/quantize/quantize.h"
#include "unit/codecs/pack_samples.h"

namespace tensorpress::kernels {
namespace {

constexpr std::array kTypes = {DType::f32, DType::f16, DType::bf16};
constexpr std::array kBits = {1, 2, 3, 4, 5, 6, 8};

std::size_t bytes_of(std::size_t count, std::size_t group, int bits) {
  return packed_size(count, QuantizeOptions{.bits = bits, .group = group}).value();
}

void expect_every_isa_agrees(DType dtype, int bits, bool stochastic, std::size_t count,
                             std::size_t group, const std::vector<std::byte>& values) {
  constexpr std::uint64_t kSeed = 0x123456789ABCDEF0;
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 34;  // the keys' high half counts
  const auto plain = group_quantizer_reference(dtype, bits, stochastic);
  const std::size_t bytes = bytes_of(count, group, bits);
  std::vector<std::byte> expected(bytes), back(values.size());
  const bool coded = plain.pack(values.data(), count, group, kSeed, kFirst, expected.data());
  if (coded) plain.unpack(expected.data(), count, group, back.data(), false);
  for (const Isa isa : usable_isas()) {
    const auto kernel = group_quantizer(dtype, bits, stochastic, isa);
    std::vector<std::byte> actual(bytes + 1, std::byte{0xEE});
    ASSERT_EQ(coded, kernel.pack(values.data(), count, group, kSeed, kFirst, actual.data()));
    ASSERT_EQ(std::byte{0xEE}, actual.back());
    if (!coded) continue;
    actual.pop_back();
    ASSERT_EQ(expected, actual) << name_of(isa) << " " << name_of(dtype) << " bits " << bits
                                << " count " << count << " group " << group;
    for (const bool past_cache : {false, true}) {
      std::vector<std::byte> decoded(values.size() + 1, std::byte{0xEE});
      kernel.unpack(expected.data(), count, group, decoded.data(), past_cache);
      ASSERT_EQ(std::byte{0xEE}, decoded.back());
      decoded.pop_back();
      ASSERT_EQ(back, decoded) << name_of(isa) << " " << name_of(dtype) << " bits " << bits;
    }
  }
}

TEST(QuantizeKernels, EveryIsaGivesTheReferencesBytesForEveryLength) {
  for (const DType dtype : kTypes) {
    for (const int bits : kBits) {
      for (const bool stochastic : {false, true}) {
        const std::size_t block = quantized_block_values(bits);
        for (const std::size_t group : {block, 3 * block, std::size_t{1024}}) {
          for (const std::size_t count :
               {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{31}, std::size_t{33},
                block - 1, block, block + 1, group + 5, 2 * group, 2 * group + block + 17}) {
            const auto values = samples::elements(dtype, samples::normal_values(count, 3));
            expect_every_isa_agrees(dtype, bits, stochastic, count, group, values);
          }
        }
      }
    }
  }
}

TEST(QuantizeKernels, EveryIsaAgreesOnHostileValues) {
  const float huge = std::numeric_limits<float>::max();
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<std::vector<float>> palettes = {
      {0.0f, -0.0f},
      {tiny, 0.0f, 3 * tiny, -2 * tiny},
      {huge, 0.0f},
      {huge, -huge},
      {1e38f, -1e38f, 5.0f},
      {3.0f},
      {300.1f, 300.2f},
      {-1.0f, -0.0f, 1e-30f},
      {1e-38f, 2e-38f, 0.0f},
      {65504.0f, 0.0f, -65504.0f},
      {1.0f, NAN},
      {1.0f, HUGE_VALF},
      {-HUGE_VALF},
      {huge, huge * 0.5f},
  };
  std::mt19937 generator(4);
  for (const auto& palette : palettes) {
    for (const std::size_t count : {256u, 300u, 519u}) {
      std::vector<float> values(count);
      for (auto& value : values) value = palette[generator() % palette.size()];
      for (const DType dtype : kTypes) {
        for (const int bits : kBits) {
          for (const bool stochastic : {false, true}) {
            expect_every_isa_agrees(dtype, bits, stochastic, count, 256,
                                    samples::elements(dtype, values));
          }
        }
      }
    }
  }
}

TEST(QuantizeKernels, AGroupWithASingleStrangeValueIsRefusedWhereverItStands) {
  for (const float strange : {NAN, HUGE_VALF, -HUGE_VALF}) {
    for (std::size_t at = 0; at < 300; ++at) {
      auto values = samples::normal_values(300);
      values[at] = strange;
      const auto bytes = samples::elements(DType::f32, values);
      std::vector<std::byte> packed(bytes_of(300, 256, 1));
      for (const Isa isa : usable_isas()) {
        for (const bool stochastic : {false, true}) {
          ASSERT_FALSE(group_quantizer(DType::f32, 1, stochastic, isa)
                           .pack(bytes.data(), 300, 256, 0, 0, packed.data()))
              << at << name_of(isa);
        }
      }
    }
  }
}

TEST(GroupScale, TheGridCoversTheRangeAndIsNotMuchWider) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> exponent(-40, 37), share(0, 1);
  for (int i = 0; i < 100000; ++i) {
    const auto least =
        static_cast<float>((share(generator) - 0.5) * std::pow(10.0, exponent(generator)));
    const float most = least + static_cast<float>(std::pow(10.0, exponent(generator)));
    for (const float levels : {1.0f, 3.0f, 7.0f, 15.0f, 31.0f, 63.0f, 255.0f}) {
      const auto group = scale_of_range(least, most, levels);
      if (!group) {
        EXPECT_GT(std::fmax(std::fabs(least), std::fabs(most)), 1e37f);
        continue;
      }
      const double range = static_cast<double>(most) - least;
      const double offset = std::fabs(static_cast<double>(least)) * 0x1p-10;
      EXPECT_LE(group->minimum, least);
      EXPECT_GE(group->minimum + static_cast<double>(levels) * group->scale,
                most - range * 0x1p-22);
      EXPECT_LE(group->scale, 1.04 * (range + offset) / levels + 0x1p-112);
      const GroupScale read = GroupScale::of_header(group->header());
      EXPECT_EQ(group->minimum, read.minimum);
      EXPECT_EQ(group->scale, read.scale);
    }
  }
}

TEST(RoundingKey, BitsAreUniformAndDoNotFollowSeedOrNumber) {
  // Chi-squared over 256 cells: 255 degrees of freedom, so 400 is 6.4 standard deviations.
  constexpr std::size_t kElements = 1 << 18;
  const auto chi_squared = [](auto cell_of) {
    std::array<double, 256> cells{};
    for (std::size_t i = 0; i < kElements; ++i) cells[cell_of(i)] += 1;
    double sum = 0;
    for (const double cell : cells) sum += (cell - kElements / 256.0) * (cell - kElements / 256.0);
    return sum / (kElements / 256.0);
  };
  for (const std::uint64_t seed : {0ull, 1ull, 2ull, 0xFFFFFFFFFFFFFFFFull}) {
    const RoundingKey key = RoundingKey::of(seed, 0);
    const RoundingKey next_seed = RoundingKey::of(seed + 1, 0);
    const RoundingKey far = RoundingKey::of(seed, std::uint64_t{1} << 33);
    const auto top4 = [](std::uint32_t fraction) { return fraction >> 10; };
    EXPECT_LT(chi_squared([&](std::size_t i) { return key.fraction(i) >> 6; }), 400);
    EXPECT_LT(chi_squared([&](std::size_t i) { return key.fraction(i) & 255u; }), 400);
    EXPECT_LT(chi_squared([&](std::size_t i) {
                return 16 * top4(key.fraction(i)) + top4(key.fraction(i + 1));
              }),
              400);
    EXPECT_LT(chi_squared([&](std::size_t i) {
                return 16 * top4(key.fraction(i)) + top4(key.fraction(i ^ 8));  // its pair
              }),
              400 * 2);  // pairs are counted twice
    EXPECT_LT(chi_squared([&](std::size_t i) {
                return 16 * top4(key.fraction(i)) + top4(next_seed.fraction(i));
              }),
              400);
    EXPECT_LT(chi_squared([&](std::size_t i) {
                return 16 * top4(key.fraction(i)) + top4(far.fraction(i));
              }),
              400);
  }
}

}  // namespace
}  // namespace tensorpress::kernels
