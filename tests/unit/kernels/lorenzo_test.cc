// Every instruction set against the scalar truth of the Lorenzo kernels, over all tails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/lorenzo/lorenzo.h"

namespace tensorpress::kernels {
namespace {

std::vector<std::int32_t> random_quanta(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> quanta(count);
  for (auto& quantum : quanta) {
    quantum = static_cast<std::int32_t>(random() >> (random() % 32));  // every magnitude
    if (random() % 3 == 0) quantum = 0;
  }
  return quanta;
}

TEST(Lorenzo, DifferencesAreTheReferencesAndIntegrateBack) {
  for (std::size_t count = 1; count < 70; ++count) {
    const auto above = random_quanta(count, 1);
    const auto behind = random_quanta(count, 2);
    const auto corner = random_quanta(count, 3);
    const auto q = random_quanta(count, unsigned(count));
    for (int order = 0; order <= 2; ++order) {
      for (int axes = 0; axes < 4; ++axes) {
        LorenzoRow<std::int32_t> row;
        row.above = (axes & 1) != 0 ? above.data() : nullptr;
        row.behind = (axes & 2) != 0 ? behind.data() : nullptr;
        row.corner = axes == 3 ? corner.data() : nullptr;
        row.order = order;
        row.left = -77;
        std::vector<std::int32_t> expected(count);
        lorenzo_reference().difference(q.data(), expected.data(), count, row);
        for (const Isa isa : usable_isas()) {
          std::vector<std::int32_t> d(count + 1, 12345);
          lorenzo_kernels(isa).difference(q.data(), d.data(), count, row);
          ASSERT_EQ(d.back(), 12345);
          d.pop_back();
          ASSERT_EQ(d, expected) << name_of(isa) << " " << count << " " << order << " " << axes;
          d.push_back(54321);
          lorenzo_kernels(isa).integrate(d.data(), count, row);
          ASSERT_EQ(d.back(), 54321);
          d.pop_back();
          ASSERT_EQ(d, q) << name_of(isa) << " " << count << " " << order << " " << axes;
        }
      }
    }
  }
}

template <class T>
void compare_conversions(std::size_t count) {
  std::mt19937 random(5);
  std::uniform_real_distribution<T> uniform(-1000, 1000);
  std::vector<T> x(count);
  for (auto& value : x) value = uniform(random);
  // A limit below half a step: many outliers.
  const LorenzoQuantizer<T> quantizer{10, T(0.1), T(0.045)};
  const auto truth = lorenzo_reference();
  const auto& reference = conversions_of<T>(truth);
  std::vector<std::int32_t> expected(count + 1);
  std::vector<std::uint32_t> expected_outliers(count);
  const std::size_t found = reference.quantize(x.data(), count, quantizer, expected.data() + 1, 50,
                                               expected_outliers.data(), count);
  for (std::size_t i = 0; i < found; ++i) {
    const std::size_t at = expected_outliers[i] - 50;
    EXPECT_EQ(expected[at + 1], expected[at]);
  }
  for (const Isa isa : usable_isas()) {
    const auto kernels = lorenzo_kernels(isa);
    const auto& conversions = conversions_of<T>(kernels);
    std::vector<std::int32_t> q(count + 1);
    std::vector<std::uint32_t> outliers(count);
    EXPECT_EQ(
        conversions.quantize(x.data(), count, quantizer, q.data() + 1, 50, outliers.data(), count),
        found);
    EXPECT_EQ(q, expected);
    EXPECT_EQ(outliers, expected_outliers);
    EXPECT_EQ(conversions.max_magnitude(x.data(), count), reference.max_magnitude(x.data(), count));
    q = random_quanta(count, 6);
    std::vector<T> back(count), expected_back(count);
    conversions.scale(q.data(), back.data(), count, T(0.1));
    reference.scale(q.data(), expected_back.data(), count, T(0.1));
    EXPECT_EQ(back, expected_back);
  }
}

TEST(Lorenzo, QuantizationFindsTheSameOutliersEverywhere) {
  for (const std::size_t count : {1u, 3u, 7u, 8u, 15u, 16u, 17u, 100u, 1000u}) {
    compare_conversions<float>(count);
    compare_conversions<double>(count);
  }
}

TEST(Lorenzo, CellsAreTheReferences) {
  for (const int log2_block : {4, 5}) {
    std::vector<std::int32_t> d = random_quanta(640, 8);
    for (std::size_t i = 0; i < d.size(); ++i) d[i] >>= (i / 32) % 20;
    d[3] = std::numeric_limits<std::int32_t>::min();
    std::fill(d.begin() + 64, d.begin() + 128, 0);
    const std::size_t blocks = d.size() >> log2_block;
    std::vector<std::uint16_t> expected(blocks);
    lorenzo_reference().cells(d.data(), blocks, log2_block, expected.data());
    EXPECT_EQ(expected[128 / (std::size_t{1} << log2_block) - 1], 0);
    for (const Isa isa : usable_isas()) {
      std::vector<std::uint16_t> cells(blocks);
      lorenzo_kernels(isa).cells(d.data(), blocks, log2_block, cells.data());
      EXPECT_EQ(cells, expected) << name_of(isa);
    }
  }
}

}  // namespace
}  // namespace tensorpress::kernels
