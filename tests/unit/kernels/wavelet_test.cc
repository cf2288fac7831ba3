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
