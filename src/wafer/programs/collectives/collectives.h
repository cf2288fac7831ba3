// Small programs that show how the engine is used, and that closed forms exist for:
//
//   broadcast  one PE's words to all, by multicast:
//              the word i reaches (x, y) at 2 ramps + x + y + i
//
//   reduce     the sum of a row's vectors into its first PE:
//              hop, two ramps, issue and add a step
//
//   gemv       y = A x, a tile of A in each PE: x comes from the north, sums go west
//
// The 2-D scan is the offset computation of offsets.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensorpress/wafer/wafer.h"
#include "wafer/programs/inspect.h"

namespace tensorpress::wafer::programs {

struct BroadcastRun {
  std::vector<std::vector<std::uint32_t>> received;  // by PE, row by row
  std::vector<std::uint64_t> arrival;                // cycle at which each had all of it
  Report report;
};
Result<BroadcastRun> run_broadcast(std::uint32_t width, std::uint32_t height,
                                   std::span<const std::uint32_t> words,
                                   const RunOptions& options = {}, const Inspect& inspect = {});

struct ReduceRun {
  std::vector<float> sum;
  std::uint64_t cycles = 0;  // from the first send to the last addition
  Report report;
};
/// `vectors` of all PEs, one after the other.
Result<ReduceRun> run_reduce(std::uint32_t width, std::span<const float> vectors,
                             const RunOptions& options = {}, const Inspect& inspect = {});

struct GemvRun {
  std::vector<float> y;
  std::uint64_t cycles = 0;
  Report report;
};
/// `a` has `rows` x `columns` numbers, row by row; the mesh must divide both.
Result<GemvRun> run_gemv(std::uint32_t width, std::uint32_t height, std::size_t rows,
                         std::size_t columns, std::span<const float> a, std::span<const float> x,
                         const RunOptions& options = {}, const Inspect& inspect = {});

}  // namespace tensorpress::wafer::programs
