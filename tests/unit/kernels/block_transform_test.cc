// Every SIMD target against the scalar truth, bit by bit, and the scalar truth against the matrices
// of the paper.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "codecs/dct_chop/reference.h"
#include "kernels/block_transform/variants.h"
#include "tensorpress/aligned_buffer.h"

namespace tensorpress::kernels {
namespace {

struct Case {
  Transform transform;
  Layout layout;
  int chop_factor;
  std::size_t block_rows;
  std::size_t width;

  std::size_t points() const { return static_cast<std::size_t>(points_of(transform)); }
  std::size_t elements() const {
    return width * (layout == Layout::linear ? 1 : block_rows * points());
  }
  std::size_t values() const {
    return (layout == Layout::linear ? 1 : block_rows) * (width / points()) *
           static_cast<std::size_t>(kept_values(layout, chop_factor));
  }
};

std::vector<Case> all_cases(std::initializer_list<std::size_t> block_counts,
                            std::initializer_list<std::size_t> block_rows) {
  std::vector<Case> cases;
  for (const auto transform : {Transform::dct, Transform::zfp}) {
    const int points = points_of(transform);
    for (const auto layout : {Layout::square, Layout::triangle, Layout::linear}) {
      for (int chop_factor = 1; chop_factor <= points; ++chop_factor) {
        for (const std::size_t blocks : block_counts) {
          for (const std::size_t rows : block_rows) {
            cases.push_back({transform, layout, chop_factor, layout == Layout::linear ? 1 : rows,
                             blocks * static_cast<std::size_t>(points)});
          }
        }
      }
    }
  }
  return cases;
}

std::vector<float> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-100.0f, 300.0f);
  std::vector<float> values(count);
  for (auto& value : values) value = uniform(generator);
  return values;
}

// A guard of this many floats behind every output must stay as it was.
constexpr std::size_t kGuard = 64;
constexpr float kGuardValue = 12345.0f;

bool guard_is_intact(const float* end) {
  for (std::size_t i = 0; i < kGuard; ++i) {
    if (end[i] != kGuardValue) return false;
  }
  return true;
}

TEST(BlockTransform, EveryIsaGivesTheReferencesBitsForward) {
  for (const auto& c : all_cases({1, 2, 3, 5, 8, 15, 16, 17, 33}, {1, 3, 18})) {
    const auto input = random_values(c.elements(), 7);
    std::vector<float> expected(c.values() + kGuard, kGuardValue);
    const Energy expected_energy =
        reference_block_transform(c.transform, c.layout, c.chop_factor)
            .forward(input.data(), c.block_rows, c.width, expected.data(), {});
    for (const Isa isa : usable_isas()) {
      std::vector<float> actual(c.values() + kGuard, kGuardValue);
      const Energy energy = block_transform(c.transform, c.layout, c.chop_factor, isa)
                                .forward(input.data(), c.block_rows, c.width, actual.data(),
                                         {input.data(), input.size() * sizeof(float)});
      ASSERT_EQ(0, std::memcmp(expected.data(), actual.data(), actual.size() * sizeof(float)))
          << name_of(isa) << " width " << c.width << " CF " << c.chop_factor;
      ASSERT_EQ(expected_energy.kept, energy.kept) << name_of(isa) << " width " << c.width;
      ASSERT_EQ(expected_energy.dropped, energy.dropped) << name_of(isa) << " width " << c.width;
    }
  }
}

// From an odd address too.
TEST(BlockTransform, EveryIsaGivesTheReferencesBitsInverse) {
  for (const auto& c : all_cases({1, 2, 3, 5, 8, 15, 16, 17, 33}, {1, 3, 18})) {
    const auto aligned = random_values(c.values(), 11);
    std::vector<std::byte> input(1 + c.values() * sizeof(float));
    std::memcpy(input.data() + 1, aligned.data(), c.values() * sizeof(float));
    AlignedBuffer expected_memory, actual_memory;
    const auto expected = expected_memory.reserve_as<float>(c.elements() + kGuard);
    const auto actual = actual_memory.reserve_as<float>(c.elements() + kGuard);
    std::ranges::fill(expected, kGuardValue);
    reference_block_transform(c.transform, c.layout, c.chop_factor)
        .inverse(std::as_bytes(std::span(aligned)).data(), c.block_rows, c.width, expected.data(),
                 false, {});
    for (const Isa isa : usable_isas()) {
      for (const bool stream : {false, true}) {
        std::ranges::fill(actual, kGuardValue);
        block_transform(c.transform, c.layout, c.chop_factor, isa)
            .inverse(input.data() + 1, c.block_rows, c.width, actual.data(), stream, {});
        ASSERT_EQ(0, std::memcmp(expected.data(), actual.data(), c.elements() * sizeof(float)))
            << name_of(isa) << " width " << c.width << " CF " << c.chop_factor << " stream "
            << stream;
        ASSERT_TRUE(guard_is_intact(actual.data() + c.elements()))
            << name_of(isa) << " width " << c.width;
      }
    }
  }
}

// The straightforward double-precision transform of one block.
std::vector<double> transform_block(Transform transform, bool forward,
                                    const std::vector<double>& block) {
  const auto matrix =
      transform == Transform::dct
          ? (forward ? dct_chop::dct_forward_matrix() : dct_chop::dct_inverse_matrix())
          : (forward ? dct_chop::zfp_forward_matrix() : dct_chop::zfp_inverse_matrix());
  std::vector<double> result(block.size());
  dct_chop::apply_to_block(matrix, block.data(), result.data());
  return result;
}

TEST(BlockTransform, ReferenceMatchesThePapersMatrices) {
  for (const auto& c : all_cases({1, 3}, {1, 2})) {
    if (c.layout == Layout::linear) continue;
    const std::size_t points = c.points(), blocks = c.width / points;
    const auto keep = static_cast<std::size_t>(c.chop_factor);
    const auto input = random_values(c.elements(), 3);
    std::vector<float> values(c.values()), output(c.elements());
    const auto kernel = reference_block_transform(c.transform, c.layout, c.chop_factor);
    (void)kernel.forward(input.data(), c.block_rows, c.width, values.data(), {});
    kernel.inverse(std::as_bytes(std::span(values)).data(), c.block_rows, c.width, output.data(),
                   false, {});
    for (std::size_t b = 0; b < c.block_rows; ++b) {
      for (std::size_t x = 0; x < blocks; ++x) {
        std::vector<double> block(points * points);
        for (std::size_t i = 0; i < points * points; ++i) {
          block[i] = static_cast<double>(
              input[(b * points + i / points) * c.width + x * points + i % points]);
        }
        auto coefficients = transform_block(c.transform, true, block);
        std::size_t in_triangle = 0;
        for (std::size_t u = 0; u < points; ++u) {
          for (std::size_t v = 0; v < points; ++v) {
            double& coefficient = coefficients[u * points + v];
            const bool kept = c.layout == Layout::square ? u < keep && v < keep : u + v < keep;
            if (!kept) {
              coefficient = 0;
              continue;
            }
            const std::size_t at = c.layout == Layout::square
                                       ? ((b * keep + u) * blocks + x) * keep + v
                                       : (b * blocks + x) * (keep * (keep + 1) / 2) + in_triangle++;
            ASSERT_NEAR(coefficient, static_cast<double>(values[at]), 1e-3)
                << "u " << u << " v " << v;
          }
        }
        const auto back = transform_block(c.transform, false, coefficients);
        for (std::size_t i = 0; i < points * points; ++i) {
          ASSERT_NEAR(back[i],
                      static_cast<double>(
                          output[(b * points + i / points) * c.width + x * points + i % points]),
                      2e-3);
        }
      }
    }
  }
}

TEST(BlockTransform, ZfpInverseIsTheTrueInverse) {
  const auto forward = dct_chop::zfp_forward_matrix(), inverse = dct_chop::zfp_inverse_matrix();
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 4; ++k) sum += inverse.at(i, k) * forward.at(k, j);
      EXPECT_EQ(i == j ? 1.0 : 0.0, sum);
    }
  }
}

TEST(BlockTransform, EnergyIsThatOfTheCoefficients) {
  for (const auto& c : all_cases({4, 33}, {5})) {
    if (c.transform != Transform::dct) continue;
    const auto input = random_values(c.elements(), 5);
    std::vector<float> values(c.values());
    const auto kernel = reference_block_transform(c.transform, c.layout, c.chop_factor);
    const Energy energy = kernel.forward(input.data(), c.block_rows, c.width, values.data(), {});
    double total = 0, kept = 0;
    for (const float x : input) total += static_cast<double>(x) * static_cast<double>(x);
    for (const float y : values) kept += static_cast<double>(y) * static_cast<double>(y);
    EXPECT_NEAR(kept, energy.kept, 1e-5 * total);
    EXPECT_NEAR(total - kept, energy.dropped, 1e-5 * total);
  }
}

TEST(BlockTransform, DroppedEnergyOfASmoothFieldDoesNotCancel) {
  // An offset of 287 and a ripple of 1e-3 at a frequency that CF 4 drops: a difference of two sums
  // of squares in float would be noise.
  constexpr std::size_t kWidth = 64;
  std::vector<float> input(8 * kWidth);
  double expected = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const double ripple =
        1e-3 * std::cos(static_cast<double>(2 * (i % 8) + 1) * 6 * 3.14159265358979 / 16);
    input[i] = static_cast<float>(287 + ripple);
    const double stored = static_cast<double>(input[i]) - 287;
    expected += stored * stored;
  }
  std::vector<float> values(input.size());
  const Energy energy = reference_block_transform(Transform::dct, Layout::square, 4)
                            .forward(input.data(), 1, kWidth, values.data(), {});
  EXPECT_NEAR(std::sqrt(expected), std::sqrt(energy.dropped), 0.02 * std::sqrt(expected));
}

TEST(BlockTransform, NonfiniteInputShowsInTheEnergy) {
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    for (std::size_t at = 0; at < 64; ++at) {
      std::vector<float> input(64, 1.0f), values(64);
      input[at] = bad;
      for (const Isa isa : usable_isas()) {
        const Energy energy = block_transform(Transform::dct, Layout::square, 3, isa)
                                  .forward(input.data(), 1, 8, values.data(), {});
        EXPECT_FALSE(std::isfinite(energy.kept + energy.dropped)) << at;
      }
    }
  }
}

}  // namespace
}  // namespace tensorpress::kernels
