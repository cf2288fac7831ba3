// Wavelet and context kernels: every instruction set against the scalar truth bit by bit, and the
// transform against its own inverse.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/contexts/contexts.h"
#include "kernels/wavelet/wavelet.h"

namespace tensorpress::kernels {
namespace {

std::vector<WaveletStep> all_steps(std::initializer_list<std::size_t> counts) {
  std::vector<WaveletStep> steps;
  for (const auto filter : {WaveletFilter::taps_9_7, WaveletFilter::taps_13_11,
                            WaveletFilter::taps_17_11, WaveletFilter::taps_25_19}) {
    for (const auto ends : {WaveletEnds::mirrored, WaveletEnds::through_point}) {
      for (const std::size_t count : counts) {
        if (count > wavelet_reach(filter)) steps.push_back({filter, ends, count});
      }
    }
  }
  return steps;
}

template <class T>
std::vector<T> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(normal(random));
  return values;
}

template <class T>
class Wavelet : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Wavelet, Types);

TYPED_TEST(Wavelet, RowsAreTheSameBitsOnEveryInstructionSet) {
  using T = TypeParam;
  const auto& truth = wavelet_kernels_reference<T>();
  for (const WaveletStep& step : all_steps({5, 7, 9, 13, 17, 31, 33, 65, 129, 255})) {
    std::vector<T> scratch(wavelet_scratch(step.count));
    const auto values = noise<T>(step.count, 3);
    auto expected = values;
    truth.analyze_row(step, expected.data(), scratch.data());
    auto back = expected;
    truth.synthesize_row(step, back.data(), scratch.data());
    for (const Isa isa : usable_isas()) {
      const auto& kernels = wavelet_kernels<T>(isa);
      auto found = values;
      kernels.analyze_row(step, found.data(), scratch.data());
      EXPECT_EQ(expected, found) << step.count;
      kernels.synthesize_row(step, found.data(), scratch.data());
      EXPECT_EQ(back, found) << step.count;
    }
  }
}

TYPED_TEST(Wavelet, ColumnsAreTheSameBitsOnEveryInstructionSet) {
  using T = TypeParam;
  const auto& truth = wavelet_kernels_reference<T>();
  for (const std::size_t width : {16, 32, 48, 80}) {
    for (const WaveletStep& step : all_steps({9, 17, 65})) {
      const std::size_t stride = width + 16;
      std::vector<T> scratch(wavelet_scratch(step.count));
      const auto values = noise<T>(step.count * stride, 5);
      auto expected = values;
      truth.analyze_columns(step, expected.data(), stride, width, scratch.data());
      auto back = expected;
      truth.synthesize_columns(step, back.data(), stride, width, scratch.data());
      for (const Isa isa : usable_isas()) {
        const auto& kernels = wavelet_kernels<T>(isa);
        auto found = values;
        kernels.analyze_columns(step, found.data(), stride, width, scratch.data());
        EXPECT_EQ(expected, found);
        kernels.synthesize_columns(step, found.data(), stride, width, scratch.data());
        EXPECT_EQ(back, found);
      }
    }
  }
}

// Coefficients of which most are zero, as smooth fields have them: kernels skip these.
TYPED_TEST(Wavelet, ZerosThatAreSkippedChangeNothing) {
  using T = TypeParam;
  const auto& truth = wavelet_kernels_reference<T>();
  constexpr std::size_t kWidth = 80;
  for (const WaveletStep& step : all_steps({17, 65, 129, 255})) {
    std::vector<T> scratch(wavelet_scratch(step.count));
    const auto some = noise<T>(step.count * kWidth, 17);
    const std::size_t half = (step.count + 1) / 2;
    // Which coefficients of a line are not zero: none, lows, a few lows, one of each, the ends.
    const auto is_some = [&](int pattern, std::size_t i) {
      switch (pattern) {
        case 0:
          return false;
        case 1:
          return i < half;
        case 2:
          return i > half / 2 && i < half / 2 + 3;
        case 3:
          return i == half / 2 || i == half + half / 3;
        case 4:
          return i == 0 || i == half || i == step.count - 1;
        default:
          return i >= half;
      }
    };
    for (int pattern = 0; pattern < 6; ++pattern) {
      std::vector<T> row(step.count), columns(step.count * kWidth);
      for (std::size_t i = 0; i < step.count; ++i) {
        if (is_some(pattern, i)) row[i] = some[i];
        for (std::size_t x = 0; x < kWidth; ++x) {
          // Blocks of columns differ in what they have.
          const bool here = is_some((pattern + static_cast<int>(x / 48)) % 6, i);
          if (here) columns[i * kWidth + x] = some[i * kWidth + x];
        }
      }
      auto expected_row = row, expected_columns = columns;
      truth.synthesize_row(step, expected_row.data(), scratch.data());
      truth.synthesize_columns(step, expected_columns.data(), kWidth, kWidth, scratch.data());
      for (const Isa isa : usable_isas()) {
        const auto& kernels = wavelet_kernels<T>(isa);
        auto found_row = row, found_columns = columns;
        kernels.synthesize_row(step, found_row.data(), scratch.data());
        kernels.synthesize_columns(step, found_columns.data(), kWidth, kWidth, scratch.data());
        EXPECT_EQ(expected_row, found_row) << pattern << " of " << step.count;
        EXPECT_EQ(expected_columns, found_columns) << pattern << " of " << step.count;
      }
    }
  }
}

TYPED_TEST(Wavelet, SynthesisUndoesAnalysis) {
  using T = TypeParam;
  const double tolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;
  for (const WaveletStep& step : all_steps({9, 13, 33, 129})) {
    std::vector<T> scratch(wavelet_scratch(step.count));
    const auto values = noise<T>(step.count, 11);
    auto found = values;
    const auto& kernels = wavelet_kernels<T>(detected_isa());
    kernels.analyze_row(step, found.data(), scratch.data());
    kernels.synthesize_row(step, found.data(), scratch.data());
    for (std::size_t i = 0; i < step.count; ++i) EXPECT_NEAR(values[i], found[i], tolerance);
  }
}

// A pair with n vanishing moments makes no differences of polynomials below that degree; mirrored
// through the ends, a straight line has none anywhere.
TYPED_TEST(Wavelet, StraightLinesHaveNoDifferences) {
  using T = TypeParam;
  for (const WaveletStep& step : all_steps({17, 65})) {
    if (step.ends != WaveletEnds::through_point) continue;
    std::vector<T> scratch(wavelet_scratch(step.count)), values(step.count);
    for (std::size_t i = 0; i < step.count; ++i) values[i] = static_cast<T>(3 + 0.25 * double(i));
    wavelet_kernels<T>(detected_isa()).analyze_row(step, values.data(), scratch.data());
    for (std::size_t i = (step.count + 1) / 2; i < step.count; ++i) {
      EXPECT_NEAR(0, values[i], sizeof(T) == 4 ? 2e-5 : 1e-13);
    }
  }
}

TEST(Contexts, AreTheSameClassesOnEveryInstructionSet) {
  std::mt19937 random(2);
  const ContextWeights weights = {3, 30, 10, 30, 8, 3, 16, 3, 20, 3};
  ASSERT_LE(weights.total(), kMostContextWeight);
  constexpr std::size_t kRoom = 2 * kContextMargin;
  for (const unsigned most : {1u, 5u, 127u}) {
    for (std::size_t count = 1; count < 140; ++count) {
      std::vector<std::vector<std::uint16_t>> rows(16);
      for (auto& row : rows) {
        row.resize(count + 2 * kRoom + 64);
        for (auto& magnitude : row) magnitude = static_cast<std::uint16_t>(random() % (most + 1));
      }
      const auto at = [&](std::size_t i) { return rows[i].data() + kRoom; };
      const ParentRows parents = {at(0), at(1), at(2), at(3), at(4)};
      for (const bool doubled : {false, true}) {
        std::vector<std::uint16_t> expected_parent(count + 256), parent(count + 256);
        context_kernels_reference().weigh_parent(parents, weights, count, doubled,
                                                 expected_parent.data());
        const ContextRows around = {
            at(5),  at(6),  at(7),  at(8),  at(9), at(10), expected_parent.data(),
            at(11), at(12), at(13), at(14), at(15)};
        std::vector<std::uint8_t> expected(count + 64), found(count + 64);
        context_kernels_reference().classify(around, weights, count, expected.data());
        for (const Isa isa : usable_isas()) {
          const auto kernels = context_kernels(isa);
          kernels.weigh_parent(parents, weights, count, doubled, parent.data());
          kernels.classify(around, weights, count, found.data());
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(expected_parent[i], parent[i]) << i << " of " << count;
            ASSERT_EQ(expected[i], found[i]) << i << " of " << count;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tensorpress::kernels
