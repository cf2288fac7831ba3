// Bounds at the ends of the range of doubles: subnormal values, squares that vanish, ranges wider
// than any double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tensorpress/bound.h"
#include "tensorpress/stream.h"

namespace tensorpress {
namespace {

std::vector<double> decoded_doubles(std::span<const double> values, const char* codec,
                                    Bound bound) {
  const auto view = TensorView::contiguous(std::as_bytes(values).data(), DType::f64,
                                           Shape{static_cast<std::uint64_t>(values.size())});
  const auto stream = compress(view, Codec::make(codec).value(), {.bound = bound});
  EXPECT_TRUE(stream.ok()) << (stream.ok() ? "" : stream.error().message);
  std::vector<double> decoded(values.size());
  if (!stream.ok()) return decoded;
  const auto tensor = decompress(*stream);
  EXPECT_TRUE(tensor.ok());
  std::memcpy(decoded.data(), tensor->bytes.data(), tensor->bytes.size());
  return decoded;
}

TEST(Bounds, HoldAmongSubnormalDoublesToo) {
  constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
  std::mt19937 random(5);
  std::vector<double> values(3000);
  for (double& value : values) value = (static_cast<int>(random() % 400) - 200) * kSmallest;
  values[0] = -200 * kSmallest;
  values[1] = 199 * kSmallest;
  for (const char* const codec : {"dense", "ceresz", "ceresz2"}) {
    for (const double share : {0.1, 0.3, 1e-3}) {
      const auto decoded = decoded_doubles(values, codec, Bound::pointwise_relative(share));
      for (std::size_t i = 0; i < values.size(); ++i) {
        // Whole numbers of the smallest one: exact.
        const double value = std::fabs(values[i] / kSmallest);
        EXPECT_LE(std::fabs(decoded[i] - values[i]) / kSmallest, share * value)
            << codec << ' ' << share << ' ' << value;
      }
    }
    const auto decoded = decoded_doubles(values, codec, Bound::relative(0.5));
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_LE(std::fabs(decoded[i] - values[i]) / kSmallest, 199.5) << codec;
    }
  }
}

TEST(Bounds, OfPsnrAreKeptOverTheWholeRangeOfDoubles) {
  const std::vector<double> values = {-1.7e308, 1.7e308, 0, 1};
  const auto decoded = decoded_doubles(values, "dense", Bound::psnr(50));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(std::fabs(decoded[i] / 1e308 - values[i] / 1e308), 3.4 / 316);
  }
}

// A walk whose steps are the same at every scale.
std::vector<double> walk(double scale) {
  std::mt19937 random(7);
  std::vector<double> values(20000);
  double at = 0;
  for (double& value : values) {
    at += static_cast<double>(static_cast<int>(random() % 2001) - 1000) / 1000;
    value = at * scale;
  }
  return values;
}

// Of the range, computed at a scale where squares are ordinary numbers.
double decibels(std::span<const double> values, std::span<const double> decoded, double scale) {
  double squared = 0, low = HUGE_VAL, high = -HUGE_VAL;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i] / scale, error = decoded[i] / scale - value;
    squared += error * error;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return 10 *
         std::log10((high - low) * (high - low) * static_cast<double>(values.size()) / squared);
}

TEST(Bounds, OfPsnrAreKeptWhereSquaresAreTooSmall) {
  for (const char* const codec : {"dense", "ceresz"}) {
    for (const double scale : {1.0, 1e-140, 5e-161, 1e-200}) {
      std::mt19937 random(3);
      std::vector<double> values(20000);  // noise: no better than the bound
      for (double& value : values) value = static_cast<double>(random()) * 0x1p-32 * scale;
      EXPECT_GE(decibels(values, decoded_doubles(values, codec, Bound::psnr(40)), scale), 40)
          << codec << ' ' << scale;
    }
  }
}

TEST(Bounds, OfARatioAreFoundAtEveryScale) {
  const auto error_at = [](double scale) {
    const auto values = walk(scale);
    const auto decoded = decoded_doubles(values, "dense", Bound::ratio(8));
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::fabs(decoded[i] / scale - values[i] / scale));
    }
    return largest;
  };
  const double expected = error_at(1);
  EXPECT_GT(expected, 0);
  for (const double scale : {1e-160, 1e-290, 1e200, 1e300}) {
    EXPECT_NEAR(error_at(scale), expected, 0.05 * expected) << scale;
  }
}

TEST(Bounds, TellNoSmallerErrorWhereSquaresAreTooSmall) {
  constexpr double kScale = 1e-165;
  const auto values = walk(kScale);
  const auto view = TensorView::contiguous(std::as_bytes(std::span(values)).data(), DType::f64,
                                           Shape{values.size()});
  for (const char* const codec : {"dense", "ceresz", "ceresz2"}) {
    const auto stream =
        compress(view, Codec::make(codec).value(), {.bound = Bound::absolute(1e-3 * kScale)});
    ASSERT_TRUE(stream.ok());
    const auto decoded = decoded_doubles(values, codec, Bound::absolute(1e-3 * kScale));
    double squared = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = decoded[i] / kScale - values[i] / kScale;
      squared += error * error;
    }
    EXPECT_GT(squared, 0) << codec;
    EXPECT_GE(read_info(*stream)->statistic("l2_error").value() / kScale, std::sqrt(squared))
        << codec;
  }
}

TEST(Bounds, TakeARangeWiderThanAnyDouble) {
  const std::vector<double> values = {-1.7e308, 1.7e308, 0, 1};
  const auto view = TensorView::contiguous(std::as_bytes(std::span(values)).data(), DType::f64,
                                           Shape{values.size()});
  for (const Bound bound : {Bound::relative(0), Bound::relative(1e-3), Bound::psnr(60)}) {
    const auto stream = compress(view, Codec::make("dense").value(),
                                 {.bound = bound, .value_range = ValueRange{-1.7e308, 1.7e308}});
    EXPECT_TRUE(stream.ok()) << (stream.ok() ? "" : stream.error().message);
  }
}

}  // namespace
}  // namespace tensorpress
