#include "wafer/field/sample_field.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace tensorpress::wafer {
namespace {

double largest_step(std::span<const float> values) {
  double largest = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(double{values[i]} - values[i - 1]));
  }
  return largest;
}

TEST(SampleField, LastBlockIsMuchRougherThanTheFirst) {
  constexpr std::size_t kBlock = 32;
  const auto field = sample_field(16);
  ASSERT_EQ(field.size(), 16 * kBlock);
  const std::span values(field);
  EXPECT_GT(largest_step(values.last(kBlock)), 8 * largest_step(values.first(kBlock)));
}

}  // namespace
}  // namespace tensorpress::wafer
