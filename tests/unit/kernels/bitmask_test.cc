// Masks and signs on every instruction set against their plain versions, and those against C++'s
// own comparison.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/bitmask/bitmask.h"
#include "unit/codecs/pack_samples.h"

namespace tensorpress::kernels {
namespace {

constexpr std::array kTypes = {DType::f32,  DType::f64, DType::f16,
                               DType::bf16, DType::u8,  DType::i16};
constexpr std::array<std::size_t, 12> kCounts = {0, 1, 7, 8, 9, 63, 64, 65, 128, 200, 517, 1000};

std::vector<float> telling_values(std::size_t count) {
  constexpr std::array kPalette = {0.0f,  -0.0f,  1.0f,  -1.0f,     NAN,        -NAN,
                                   2e-8f, 200.0f, -3e4f, HUGE_VALF, -HUGE_VALF, 1e-30f};
  std::mt19937 generator(7);
  std::vector<float> values(count);
  for (auto& value : values) value = kPalette[generator() % kPalette.size()];
  return values;
}

TEST(BitmaskKernels, APositiveBitIsWhatComparingWithZeroSays) {
  for (const DType dtype : kTypes) {
    for (const std::size_t count : kCounts) {
      auto values = samples::elements(dtype, telling_values(count));
      const auto numbers = samples::floats(dtype, values);
      for (const Isa isa : usable_isas()) {
        std::vector<std::byte> bits((count + 7) / 8, std::byte{0xFF});
        bitmask_kernels(dtype, isa).pack_positive(values.data(), count, bits.data());
        for (std::size_t i = 0; i < 8 * bits.size(); ++i) {
          const bool bit = ((static_cast<unsigned>(bits[i / 8]) >> (i % 8)) & 1u) != 0;
          ASSERT_EQ(i < count && numbers[i] > 0, bit) << name_of(dtype) << name_of(isa) << i;
        }
      }
    }
  }
}

TEST(BitmaskKernels, TwoPatternsComeBackAndAThirdIsFoundWhereverItStands) {
  std::mt19937 generator(8);
  for (const DType dtype : kTypes) {
    const std::size_t size = size_of(dtype);
    const std::uint64_t other = 0x8123456789ABCD85u >> (64 - 8 * size);
    for (const std::size_t count : kCounts) {
      std::vector<std::byte> values(count * size);
      for (std::size_t i = 0; i < count; ++i) {
        if (generator() % 2 == 0) std::memcpy(values.data() + i * size, &other, size);
      }
      for (const Isa isa : usable_isas()) {
        const auto kernels = bitmask_kernels(dtype, isa);
        std::vector<std::byte> bits((count + 7) / 8);
        ASSERT_TRUE(kernels.pack_equal(values.data(), count, other, bits.data()));
        for (const bool past_cache : {false, true}) {
          std::vector<std::byte> back(values.size(), std::byte{0xEE});
          kernels.expand(bits.data(), count, other, back.data(), past_cache);
          ASSERT_EQ(values, back) << name_of(dtype) << name_of(isa) << count;
        }
        for (std::size_t i = 0; i < count; i += 13) {
          auto strange = values;
          strange[i * size] ^= std::byte{2};
          ASSERT_FALSE(kernels.pack_equal(strange.data(), count, other, bits.data())) << i;
        }
      }
    }
  }
}

TEST(BitmaskKernels, RestoringMakesSignsAgreeAndLeavesTheOtherValuesAlone) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::size_t count : kCounts) {
      const auto lossy = samples::elements(dtype, telling_values(count));
      const auto before = samples::floats(dtype, lossy);
      std::mt19937 generator(9);
      std::vector<std::byte> bits((count + 7) / 8);
      for (auto& byte : bits) byte = static_cast<std::byte>(generator());
      const auto values_of = [&](const BitmaskKernels& kernels) {
        auto values = lossy;
        kernels.restore_positive(bits.data(), count, 1, values.data());
        return values;
      };
      const auto expected = values_of(bitmask_reference(dtype));
      const auto after = samples::floats(dtype, expected);
      for (std::size_t i = 0; i < count; ++i) {
        const bool bit = ((static_cast<unsigned>(bits[i / 8]) >> (i % 8)) & 1u) != 0;
        ASSERT_EQ(bit, after[i] > 0);
        if (bit == (before[i] > 0)) {
          ASSERT_EQ(0, std::memcmp(&before[i], &after[i], sizeof(float)));
        }
      }
      for (const Isa isa : usable_isas()) {
        ASSERT_EQ(expected, values_of(bitmask_kernels(dtype, isa))) << name_of(isa);
      }
    }
  }
}

}  // namespace
}  // namespace tensorpress::kernels
