// SSIM against an independent computation with SciPy, which is also how scikit-image defines it
// (gaussian_weights=True, sigma=1.5, use_sample_covariance=False). The numbers below were printed
// by this program (SciPy 1.17, NumPy 2.4):
//
//   import numpy as np
//   from scipy.ndimage import gaussian_filter
//   def ssim(x, y, L):
//       f = lambda a: gaussian_filter(a, 1.5, truncate=3.5)
//       ux, uy = f(x), f(y)
//       vx, vy, vxy = f(x*x) - ux*ux, f(y*y) - uy*uy, f(x*y) - ux*uy
//       c1, c2 = (.01*L)**2, (.03*L)**2
//       s = (2*ux*uy + c1)*(2*vxy + c2)/((ux*ux + uy*uy + c1)*(vx + vy + c2))
//       return s[5:-5, 5:-5].mean()
//   i, j = np.mgrid[0:24, 0:31].astype(float)
//   x = (i*i*7 + j*13 + i*j*3) % 256
//   print(ssim(x, x + (i*5 + j*11) % 17 - 8, 255.), ssim(x, np.floor(x/32)*32, 255.),
//         ssim(x, 0*x + 100, 255.))
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "metrics/metrics.h"

namespace tensorpress::metrics {
namespace {

constexpr std::size_t kHeight = 24;
constexpr std::size_t kWidth = 31;
constexpr double kNoisy = 0.9977890596310671;
constexpr double kCoarse = 0.9840270720796693;
constexpr double kFlat = 0.010527679136061395;

using Plane = std::vector<float>;

template <class Value>
Plane plane(Value value) {
  Plane result(kHeight * kWidth);
  for (std::size_t i = 0; i < kHeight; ++i) {
    for (std::size_t j = 0; j < kWidth; ++j) result[i * kWidth + j] = value(i, j);
  }
  return result;
}

float original(std::size_t i, std::size_t j) {
  return static_cast<float>((i * i * 7 + j * 13 + i * j * 3) % 256);
}
float noisy(std::size_t i, std::size_t j) {
  return original(i, j) + static_cast<float>((i * 5 + j * 11) % 17) - 8;
}
float coarse(std::size_t i, std::size_t j) {
  return std::floor(original(i, j) / 32) * 32;
}
float flat(std::size_t, std::size_t) {
  return 100;
}

std::optional<double> ssim(const Plane& x, const Plane& y, const Shape& shape, double range = 255) {
  return mean_ssim(*view_of(std::span<const float>(x), shape),
                   *view_of(std::span<const float>(y), shape), range);
}

const Shape kShape{kHeight, kWidth};

TEST(Ssim, OfACopyIsOne) {
  const auto result = ssim(plane(original), plane(original), kShape);
  ASSERT_TRUE(result);
  EXPECT_NEAR(*result, 1, 1e-12);
}

TEST(Ssim, AgreesWithScipy) {
  EXPECT_NEAR(*ssim(plane(original), plane(noisy), kShape), kNoisy, 1e-12);
  EXPECT_NEAR(*ssim(plane(original), plane(coarse), kShape), kCoarse, 1e-12);
  EXPECT_NEAR(*ssim(plane(original), plane(flat), kShape), kFlat, 1e-12);
}

// Without variance only the first factor is left: (2 mx my + C1) / (mx^2 + my^2 + C1).
TEST(Ssim, OfTwoConstantsFollowsTheFormula) {
  const double c1 = 2.55 * 2.55;
  const auto result = ssim(Plane(121, 10), Plane(121, 20), {11, 11});
  ASSERT_TRUE(result);
  EXPECT_NEAR(*result, (2 * 10 * 20 + c1) / (100 + 400 + c1), 1e-12);
}

TEST(Ssim, IsTheMeanOverAllPlanes) {
  Plane x = plane(original);
  Plane y = plane(noisy);
  const Plane second = plane(coarse);
  x.insert(x.end(), x.begin(), x.begin() + kHeight * kWidth);
  y.insert(y.end(), second.begin(), second.end());
  for (const auto& shape : {Shape{2, kHeight, kWidth}, Shape{1, 2, 1, kHeight, kWidth}}) {
    const auto result = ssim(x, y, shape);
    ASSERT_TRUE(result);
    EXPECT_NEAR(*result, (kNoisy + kCoarse) / 2, 1e-12);
  }
}

TEST(Ssim, StridesDoNotMatter) {
  const Plane x = plane(original);
  // The other one lies in memory column by column.
  Plane turned(kHeight * kWidth);
  for (std::size_t i = 0; i < kHeight; ++i) {
    for (std::size_t j = 0; j < kWidth; ++j) turned[j * kHeight + i] = noisy(i, j);
  }
  auto y = *view_of(std::span<const float>(turned), kShape);
  y.strides[0] = sizeof(float);
  y.strides[1] = kHeight * sizeof(float);
  const auto result = mean_ssim(*view_of(std::span<const float>(x), kShape), y, 255);
  ASSERT_TRUE(result);
  EXPECT_NEAR(*result, kNoisy, 1e-12);
}

TEST(Ssim, OfBytesIsThatOfTheirValues) {
  std::vector<std::uint8_t> x(kHeight * kWidth);
  std::vector<std::uint8_t> y(kHeight * kWidth);
  for (std::size_t at = 0; at < x.size(); ++at) {
    x[at] = static_cast<std::uint8_t>(original(at / kWidth, at % kWidth));
    y[at] = static_cast<std::uint8_t>(coarse(at / kWidth, at % kWidth));
  }
  const auto view = [](const std::vector<std::uint8_t>& values) {
    return TensorView::contiguous(reinterpret_cast<const std::byte*>(values.data()), DType::u8,
                                  kShape);
  };
  EXPECT_NEAR(*mean_ssim(view(x), view(y), 255), kCoarse, 1e-12);
}

TEST(Ssim, IsAbsentWhereItIsNotDefined) {
  const Plane x = plane(original);
  EXPECT_FALSE(ssim(x, x, {kHeight * kWidth}));  // no plane
  EXPECT_FALSE(ssim(Plane(10 * 31), Plane(10 * 31), {10, 31}));
  EXPECT_FALSE(ssim(Plane(31 * 10), Plane(31 * 10), {31, 10}));
  EXPECT_FALSE(ssim({}, {}, {0, 31, 31}));
  EXPECT_FALSE(ssim(x, x, kShape, std::numeric_limits<double>::infinity()));
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Plane holed = x;
    holed.back() = bad;
    EXPECT_FALSE(ssim(x, holed, kShape));
    EXPECT_FALSE(ssim(holed, x, kShape));
  }
}

TEST(Ssim, WithoutARangeIsOneForEqualTensorsOnly) {
  EXPECT_EQ(ssim(Plane(144, 3), Plane(144, 3), {12, 12}, 0), 1.0);
  EXPECT_FALSE(ssim(Plane(144, 3), Plane(144, 4), {12, 12}, 0));
}

}  // namespace
}  // namespace tensorpress::metrics
