// Marks of axes lie at round numbers inside the range.
#include "report/drawing/ticks.h"

#include <gtest/gtest.h>

namespace tensorpress::report {
namespace {

using Ticks = std::vector<double>;

TEST(LinearTicks, AreMultiplesOfOneTwoOrFive) {
  EXPECT_EQ(linear_ticks(0, 10, 5), (Ticks{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(linear_ticks(17, 103, 6), (Ticks{20, 40, 60, 80, 100}));
  EXPECT_EQ(linear_ticks(0, 1, 5), (Ticks{0, 0.2, 0.4, 0.6, 0.8, 1}));
  EXPECT_EQ(linear_ticks(-0.1, 0.1, 4), (Ticks{-0.1, -0.05, 0, 0.05, 0.1}));
}

TEST(LinearTicks, StayInsideTheRangeAndAscendForAnyRange) {
  for (const double low : {-1e6, -3.7, 0.0, 1e-9, 12345.678}) {
    for (const double range : {1e-12, 3e-4, 1.0, 7.3, 9.99e8}) {
      const Ticks ticks = linear_ticks(low, low + range, 6);
      ASSERT_FALSE(ticks.empty());
      EXPECT_LE(ticks.size(), 8u);
      for (std::size_t i = 0; i < ticks.size(); ++i) {
        EXPECT_GE(ticks[i], low - 1e-6 * range - 1e-9);
        EXPECT_LE(ticks[i], low + range + 1e-6 * range + 1e-9);
        if (i > 0) {
          EXPECT_GT(ticks[i], ticks[i - 1]);
        }
      }
    }
  }
}

TEST(LinearTicks, OfASinglePlaceAreThatPlace) {
  EXPECT_EQ(linear_ticks(3.3, 3.3, 5), (Ticks{3.3}));
}

TEST(LogTicks, AreOneTwoFiveTimesPowersOfTen) {
  EXPECT_EQ(log_ticks(0.5, 32, 9), (Ticks{0.5, 1, 2, 5, 10, 20}));
  EXPECT_EQ(log_ticks(0.001, 0.1, 9), (Ticks{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1}));
}

TEST(LogTicks, ArePowersOfTenOverManyDecades) {
  EXPECT_EQ(log_ticks(1e-3, 1e3, 9), (Ticks{1e-3, 1e-2, 1e-1, 1, 10, 100, 1000}));
}

TEST(LogTicks, AreThinnedBeyondTheLimit) {
  const Ticks ticks = log_ticks(1e-12, 1e12, 9);
  EXPECT_LE(ticks.size(), 9u);
  EXPECT_GE(ticks.size(), 4u);
}

TEST(LogTicks, OfAShortRangeArePowersOfTwo) {
  EXPECT_EQ(log_ticks(3, 9, 9), (Ticks{4, 8}));
}

TEST(TickLabel, IsShort) {
  EXPECT_EQ(tick_label(0), "0");
  EXPECT_EQ(tick_label(0.1 + 0.2), "0.3");
  EXPECT_EQ(tick_label(1500), "1500");
  EXPECT_EQ(tick_label(1e-6), "1e-06");
}

}  // namespace
}  // namespace tensorpress::report
