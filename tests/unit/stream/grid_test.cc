#include <gtest/gtest.h>

#include "stream/chunks/chunk_grid.h"

namespace tensorpress::stream {
namespace {

ChunkGrid grid_of(const Shape& shape, const Shape& chunk) {
  return ChunkGrid::make(shape, chunk).value();
}

TEST(ChunkGrid, NumbersChunksInCOrderAndCutsTheFarEdges) {
  const auto grid = grid_of({5, 7}, {2, 3});
  EXPECT_EQ(grid.chunk_count(), 9u);
  EXPECT_EQ(grid.region(0).extent, (Shape{2, 3}));
  EXPECT_EQ(grid.region(1).origin[1], 3u);
  EXPECT_EQ(grid.region(8).origin[0], 4u);
  EXPECT_EQ(grid.region(8).origin[1], 6u);
  EXPECT_EQ(grid.region(8).extent, (Shape{1, 1}));
}

TEST(ChunkGrid, CoversEveryElementOnce) {
  const Shape shape{3, 5, 4};
  const auto grid = grid_of(shape, {2, 2, 3});
  std::vector<int> seen(shape.element_count());
  for (std::uint64_t number = 0; number < grid.chunk_count(); ++number) {
    const Region region = grid.region(number);
    for (std::uint64_t i = 0; i < region.extent[0]; ++i) {
      for (std::uint64_t j = 0; j < region.extent[1]; ++j) {
        for (std::uint64_t k = 0; k < region.extent[2]; ++k) {
          ++seen[((region.origin[0] + i) * 5 + region.origin[1] + j) * 4 + region.origin[2] + k];
        }
      }
    }
  }
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(ChunkGrid, GivesAnEmptyTensorNoChunksAndAScalarOne) {
  EXPECT_EQ(grid_of({0, 4}, {1, 4}).chunk_count(), 0u);
  EXPECT_EQ(grid_of({}, {}).chunk_count(), 1u);
  EXPECT_EQ(grid_of({}, {}).region(0).extent, Shape{});
}

TEST(ChunkGrid, KnowsWhichGridsFollowMemoryOrder) {
  EXPECT_TRUE(grid_of({4, 6, 8}, {1, 2, 8}).is_sequential());
  EXPECT_TRUE(grid_of({4, 6, 8}, {3, 6, 8}).is_sequential());
  EXPECT_TRUE(grid_of({4, 6, 8}, {1, 1, 3}).is_sequential());
  EXPECT_TRUE(grid_of({1, 6, 8}, {5, 2, 9}).is_sequential());
  EXPECT_TRUE(grid_of({4, 6, 8}, {9, 9, 9}).is_sequential());
  EXPECT_TRUE(grid_of({0, 6, 8}, {2, 2, 2}).is_sequential());
  EXPECT_FALSE(grid_of({4, 6, 8}, {2, 2, 8}).is_sequential());
  EXPECT_FALSE(grid_of({4, 6, 8}, {1, 2, 4}).is_sequential());
}

TEST(ChunkGrid, RefusesEmptyChunksAndOtherRanks) {
  EXPECT_FALSE(ChunkGrid::make({4, 4}, {0, 4}).ok());
  EXPECT_FALSE(ChunkGrid::make({4, 4}, {4}).ok());
}

}  // namespace
}  // namespace tensorpress::stream
