// Codec `dense`: which of its predictors codes a chunk, by effort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tensorpress/stream.h"

namespace tensorpress {
namespace {

// A sea with some roughness; land is the mean of its plane, with sharp coasts.
std::vector<float> sea(std::size_t depths, std::size_t rows, std::size_t columns) {
  std::vector<float> values(depths * rows * columns);
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<double>(i % columns), y = static_cast<double>(i / columns % rows);
    const auto z = static_cast<double>(i / columns / rows);
    const bool land = std::sin(x / 23) + std::sin(y / 17) + std::sin((x + 2 * y) / 31) +
                          0.5 * std::sin(x * y / 50) >
                      0.2;
    random = random * 1664525 + 1013904223;
    const double rough = 0.006 * (static_cast<double>(random >> 30) - 1.5);
    const double mean = 20 * std::exp(-z / 4);
    values[i] = static_cast<float>(land ? mean
                                        : mean * std::cos((y - 90) / 60) +
                                              std::sin(x / 9 + z) * std::cos(y / 7) + rough);
  }
  return values;
}

std::size_t bytes_with(const char* effort, const std::vector<float>& values, const Shape& shape,
                       double relative = 1e-4) {
  const Parameter parameters[] = {{"effort", effort}};
  const auto codec = Codec::make("dense", parameters);
  return compress(*view_of(values, shape), *codec, Bound::relative(relative)).value().size();
}

// Samples expect too much of interpolation there.
TEST(DenseChoice, BothPredictorsAreNotLargerThanLorenzoAloneOnASeaWithLand) {
  const auto values = sea(8, 180, 360);
  const Shape shape{8, 180, 360};
  EXPECT_LE(bytes_with("best", values, shape), bytes_with("fast", values, shape));
  EXPECT_LE(100 * bytes_with("normal", values, shape), 101 * bytes_with("fast", values, shape));
}

// Hills, each octave 2.5 times lower than the one before, under ripples of a few values. Samples
// expect a tenth too much of interpolation, and it wins by a little.
TEST(DenseChoice, InterpolationIsTriedWhereSamplesExpectALittleTooMuchOfIt) {
  constexpr std::size_t kSide = 300;
  std::vector<float> values(kSide * kSide);
  std::mt19937 random(3);
  double height = 50;
  for (std::size_t step = 64; step >= 1; step /= 2, height /= 2.5) {
    const std::size_t corners = kSide / step + 3;
    std::vector<double> at(corners * corners);
    for (double& corner : at) corner = static_cast<double>(random() >> 8) / 16777216.0 - 0.5;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t y = i / kSide, x = i % kSide;
      const double down = static_cast<double>(y % step) / static_cast<double>(step);
      const double right = static_cast<double>(x % step) / static_cast<double>(step);
      const double* const corner = &at[y / step * corners + x / step];
      const double above = (1 - right) * corner[0] + right * corner[1];
      const double below = (1 - right) * corner[corners] + right * corner[corners + 1];
      values[i] += static_cast<float>(height * ((1 - down) * above + down * below));
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto y = static_cast<double>(i / kSide), x = static_cast<double>(i % kSide);
    double ripples = 0;
    for (const double octave : {0.0, 1.0, 2.0}) {
      ripples += std::sin(x * (0.7 + octave) + y * 0.9 * octave) * std::sin(y * (0.8 + octave));
    }
    values[i] += static_cast<float>(8 * ripples);
  }
  const auto bytes_by = [&](const char* effort) {
    const Parameter parameters[] = {{"effort", effort}};
    const auto codec = Codec::make("dense", parameters);
    return compress(*view_of(values, {kSide, kSide}), *codec, Bound::absolute(0.3)).value().size();
  };
  EXPECT_LE(100 * bytes_by("normal"), 99 * bytes_by("fast"));
}

// A peak, and a thin trail behind it. Samples meet nothing, or nothing but the peak.
TEST(DenseChoice, NormalEffortIsNotLargerThanLorenzoAloneOnNearlyEmptyFields) {
  const Shape shape{70, 80, 90};
  for (const double trail : {0.0, 0.001, 0.01}) {
    std::vector<float> values(shape.element_count());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = static_cast<double>(i % 90) - 18, y = static_cast<double>(i / 90 % 80) - 32;
      const double z = static_cast<double>(i / 7200) - 42;
      const double width = 0.7 + 0.2 * std::max(x, 0.0), beside = y * y + z * z;
      double value = std::exp(-(x * x + beside) / (2 * 0.7 * 0.7));
      if (x > 0) value += trail * std::exp(-beside / (2 * width * width));
      values[i] = value < 1e-30 ? 0.0f : static_cast<float>(value);
    }
    for (const double bound : {1e-2, 1e-4}) {
      EXPECT_LE(100 * bytes_with("normal", values, shape, bound),
                101 * bytes_with("fast", values, shape, bound));
    }
  }
}

}  // namespace
}  // namespace tensorpress
