// Lists of zeros in chunks of codec `dense`: every zero, nothing beyond the bound, short lists.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "codecs/dense/lattice/exact.h"

namespace tensorpress::dense {
namespace {

constexpr double kBound = 0.5;

// What comes back of the list of `values`, if all of it is ones before.
std::vector<float> after_list(const std::vector<float>& values, const Extents& extents) {
  std::vector<std::byte> bytes;
  const ZeroList zeros = list_zeros<float>(values, extents, kBound);
  append_zeros(zeros, bytes);
  EXPECT_EQ(bytes_of(zeros), bytes.size());
  ByteReader reader(bytes);
  const auto read = read_zeros(reader, values.size());
  EXPECT_TRUE(read.ok());
  EXPECT_EQ(0u, reader.remaining());
  std::vector<float> back(values.size(), 1);
  set_zeros(*read, std::span(back));
  return back;
}

TEST(DenseZeros, EveryZeroIsListedAndNothingBeyondTheBound) {
  std::mt19937 random(3);
  const std::vector<Extents> shapes = {{1, 1, 40}, {1, 9, 31}, {4, 7, 12}, {3, 1, 25}};
  for (int turn = 0; turn < 400; ++turn) {
    const Extents& extents = shapes[random() % shapes.size()];
    std::vector<float> values(extents[0] * extents[1] * extents[2]);
    const auto zeros = 1 + random() % 9, small = random() % 9;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool edge = turn % 2 == 0 && i % extents[2] < zeros;
      const auto kind = random() % 10;
      values[i] = edge || kind < zeros ? 0.0f : kind < zeros + small ? 0.4f : 2.0f;
      if (random() % 50 == 0) values[i] = std::nanf("");
    }
    values[0] = 0;
    const auto back = after_list(values, extents);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0) {
        ASSERT_EQ(0, back[i]) << i;
      }
      if (std::fabs(values[i]) > kBound) {
        ASSERT_EQ(1, back[i]) << i;
      }
    }
  }
}

TEST(DenseZeros, AnEdgeOfZerosTakesAFewBytes) {
  const Extents extents = {30, 40, 50};
  std::vector<float> values(extents[0] * extents[1] * extents[2], 3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % 50 < 4 || i % 50 >= 46) values[i] = 0;
  }
  const ZeroList zeros = list_zeros<float>(values, extents, kBound);
  EXPECT_EQ(50u, zeros.period);
  EXPECT_LT(bytes_of(zeros), 12u);
}

TEST(DenseZeros, ListsThatLieAreErrors) {
  const std::vector<std::vector<std::uint8_t>> lists = {
      {0, 0, 3, 1, 1},    // ends within its flags
      {0, 100, 1, 0, 1},  // a period as long as the chunk
      {1, 90, 11},        // beyond the end
      {1, 101, 1},        // starts beyond the end
      {9, 1, 1},          // ends within its runs
      {0},                // ends before its period
  };
  for (const auto& list : lists) {
    ByteReader reader(std::as_bytes(std::span(list)));
    EXPECT_FALSE(read_zeros(reader, 100).ok());
  }
}

}  // namespace
}  // namespace tensorpress::dense
