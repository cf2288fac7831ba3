// Kernels of wavelet coefficients: every instruction set against the scalar truth bit by bit.
#include "kernels/coefficients/coefficients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace tensorpress::kernels {
namespace {

template <class T>
std::vector<T> coefficients(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(std::pow(normal(random), 5));
  // What a transform of huge values may give.
  constexpr T kSpecial[] = {
      std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
      -std::numeric_limits<T>::infinity(), static_cast<T>(-0.0),
      std::numeric_limits<T>::max(),       std::numeric_limits<T>::denorm_min()};
  for (std::size_t i = 3; i < count; i += 29) values[i] = kSpecial[i % std::size(kSpecial)];
  return values;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
CoefficientQuantizer<T> quantizer(int shift) {
  CoefficientQuantizer<T> made{static_cast<T>(8), static_cast<T>(0.125), shift, {}, {}};
  for (std::size_t c = 0; c < kScaleClasses; ++c) {
    made.from_zero[c] = static_cast<T>(0.95 - 0.01 * static_cast<double>(c));
    made.rise[c] = static_cast<T>(0.1 + 0.01 * static_cast<double>(c));
  }
  return made;
}

template <class T>
class Coefficients : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Coefficients, Types);

const std::vector<std::size_t> kCounts = {0, 1, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 257};

TYPED_TEST(Coefficients, QuantaAreTheSameOnEveryInstructionSet) {
  using T = TypeParam;
  const auto& truth = coefficient_kernels_reference<T>();
  for (const std::size_t count : kCounts) {
    std::vector<std::uint8_t> classes(count);
    for (std::size_t i = 0; i < count; ++i) classes[i] = static_cast<std::uint8_t>(i * 7 % 32);
    for (const int shift : {0, 3}) {
      const auto quantize = quantizer<T>(shift);
      auto expected = coefficients<T>(count, 1);
      std::vector<std::int32_t> quanta(count);
      std::vector<std::uint16_t> magnitudes(count), nearest(count);
      truth.magnitudes(expected.data(), count, quantize.inverse, shift, nearest.data());
      truth.quantize(quantize, classes.data(), count, expected.data(), quanta.data(),
                     magnitudes.data());
      for (const Isa isa : usable_isas()) {
        const auto& kernels = coefficient_kernels<T>(isa);
        auto values = coefficients<T>(count, 1);
        std::vector<std::int32_t> own_quanta(count);
        std::vector<std::uint16_t> own(count);
        kernels.magnitudes(values.data(), count, quantize.inverse, shift, own.data());
        EXPECT_EQ(nearest, own) << count;
        kernels.quantize(quantize, classes.data(), count, values.data(), own_quanta.data(),
                         own.data());
        EXPECT_EQ(quanta, own_quanta) << count;
        EXPECT_EQ(magnitudes, own) << count;
        EXPECT_TRUE(same_bits(expected, values)) << count;
        std::vector<T> back(count);
        kernels.restore(quanta.data(), count, quantize.step, shift, back.data(), own.data());
        EXPECT_TRUE(same_bits(expected, back)) << count;
        EXPECT_EQ(magnitudes, own) << count;
      }
    }
  }
}

TYPED_TEST(Coefficients, QuantaOfHostileBytesHaveMagnitudes) {
  using T = TypeParam;
  const std::vector<std::int32_t> quanta(37, std::numeric_limits<std::int32_t>::min());
  for (const Isa isa : usable_isas()) {
    std::vector<T> values(quanta.size());
    std::vector<std::uint16_t> magnitudes(quanta.size());
    coefficient_kernels<T>(isa).restore(quanta.data(), quanta.size(), 1, 0, values.data(),
                                        magnitudes.data());
    EXPECT_EQ(std::vector<std::uint16_t>(quanta.size(), kMostMagnitude), magnitudes);
    EXPECT_EQ(std::vector<T>(quanta.size(), static_cast<T>(-0x1p31)), values);
  }
}

TYPED_TEST(Coefficients, SizesAndMissesAreTheSameOnEveryInstructionSet) {
  using T = TypeParam;
  const auto& truth = coefficient_kernels_reference<T>();
  for (const std::size_t count : kCounts) {
    auto values = coefficients<T>(count, 2);
    std::erase_if(values, [](T value) { return !std::isfinite(value); });
    auto originals = values;
    for (std::size_t i = 0; i < originals.size(); ++i) {
      originals[i] += static_cast<T>(2 + (i % 41 == 40 ? 0.3 : 0.01));
    }
    if (count > 60) originals[50] = std::numeric_limits<T>::quiet_NaN();
    const RowSize<T> size = truth.measure(values.data(), values.size());
    std::vector<std::uint8_t> misses(count / kMissBlock + 1);
    truth.find_misses(values.data(), 2, originals.data(), static_cast<T>(0.1), values.size(),
                      misses.data());
    for (const Isa isa : usable_isas()) {
      const auto& kernels = coefficient_kernels<T>(isa);
      const RowSize<T> own = kernels.measure(values.data(), values.size());
      EXPECT_EQ(size.largest, own.largest);
      EXPECT_EQ(size.sum, own.sum);
      std::vector<std::uint8_t> found(misses.size());
      kernels.find_misses(values.data(), 2, originals.data(), static_cast<T>(0.1), values.size(),
                          found.data());
      EXPECT_EQ(misses, found);
    }
  }
}

}  // namespace
}  // namespace tensorpress::kernels
