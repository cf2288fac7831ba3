// Sparse times dense on the mesh.
#include <gtest/gtest.h>

#include "wafer/programs/collectives/csr_dense.h"

namespace tensorpress::wafer::programs {
namespace {

/// A graph in which node i has edges to a few others, weighted with small whole numbers.
CsrMatrix graph(std::size_t nodes, std::size_t hub_edges) {
  CsrMatrix a{.rows = nodes, .columns = nodes, .row_starts = {0}, .column_of = {}, .values = {}};
  for (std::size_t row = 0; row < nodes; ++row) {
    const std::size_t edges = row == 0 ? hub_edges : row % 4;
    for (std::size_t i = 0; i < edges; ++i) {
      a.column_of.push_back(static_cast<std::uint32_t>((row * 7 + i * 5 + 1) % nodes));
      a.values.push_back(static_cast<float>(static_cast<int>(row + i) % 5 - 2));
    }
    a.row_starts.push_back(static_cast<std::uint32_t>(a.values.size()));
  }
  return a;
}

std::vector<float> dense(std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = static_cast<float>(static_cast<int>(i * 13 % 17) - 8);
  return x;
}

TEST(WaferCsr, IsTheProductOnEveryMesh) {
  const CsrMatrix a = graph(50, 9);
  const std::size_t features = 3;
  const auto x = dense(50 * features);
  std::vector<float> expected(50 * features);
  for (std::size_t row = 0; row < a.rows; ++row) {
    for (std::size_t i = a.row_starts[row]; i < a.row_starts[row + 1]; ++i) {
      for (std::size_t f = 0; f < features; ++f) {
        expected[row * features + f] += a.values[i] * x[a.column_of[i] * features + f];
      }
    }
  }
  for (const auto& [width, height] :
       {std::pair{1u, 1u}, {4u, 3u}, {7u, 7u}, {2u, 50u}, {60u, 2u}}) {
    for (const std::size_t threads : {1u, 2u}) {
      const auto run = run_csr_dense(width, height, a, features, x, {.threads = threads});
      ASSERT_TRUE(run.ok()) << run.error().message;
      EXPECT_EQ(run->y, expected) << width << "x" << height;  // whole numbers: exact in any order
    }
  }
}

TEST(WaferCsr, AHubMakesOnePeSlow) {
  const auto x = dense(400 * 4);
  const auto even = run_csr_dense(4, 100, graph(400, 3), 4, x);
  const auto hub = run_csr_dense(4, 100, graph(400, 400), 4, x);
  ASSERT_TRUE(even.ok() && hub.ok());
  EXPECT_GT(hub->slowest_pe_cycles, even->slowest_pe_cycles * 5 / 2);
  EXPECT_GT(hub->cycles, even->cycles);
}

TEST(WaferCsr, TilesThatDoNotFitAndBadMatricesAreRefused) {
  const auto too_large = run_csr_dense(1, 1, graph(3000, 3), 4, dense(3000 * 4));
  ASSERT_FALSE(too_large.ok());
  EXPECT_NE(too_large.error().message.find("rows of X 48000"), std::string::npos)
      << too_large.error().message;
  CsrMatrix bad = graph(10, 3);
  bad.column_of[0] = 10;
  EXPECT_FALSE(run_csr_dense(2, 2, bad, 1, dense(10)).ok());
  bad = graph(10, 3);
  bad.row_starts[4] = 1000;
  EXPECT_FALSE(run_csr_dense(2, 2, bad, 1, dense(10)).ok());
  EXPECT_FALSE(run_csr_dense(2, 2, graph(10, 3), 1, dense(9)).ok());
}

}  // namespace
}  // namespace tensorpress::wafer::programs
