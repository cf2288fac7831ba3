// The offset computation by itself, as Table II of the CereSZ-II paper measures it: the host deals
// a length to every PE from the west (which also starts it: a column later, a hop and a word
// later), and every PE finds out what stands before it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensorpress/wafer/wafer.h"
#include "wafer/programs/offsets/offset_stages.h"

namespace tensorpress::wafer::programs {

struct OffsetsRun {
  OffsetOrder order = OffsetOrder::column;
  /// Cycles between the two readings of the counter of the PE at the origin: what Table II prints.
  std::uint64_t origin_cycles = 0;
  /// From the first PE's start to the end of the last one's work.
  std::uint64_t makespan_cycles = 0;
  std::vector<std::uint32_t> offsets;  // in the order of the blocks
  std::uint64_t total = 0;
  Report report;
};

struct OffsetsOptions {
  std::optional<OffsetOrder> order = {};  // the paper's rule when absent
  OffsetsBy by = OffsetsBy::mesh;         // or look_back
  RunOptions run = {};
  Inspect inspect = {};
};

/// `lengths` in the order of the blocks (MeshLines::number_of); missing ones are 0.
Result<OffsetsRun> run_offsets(std::uint32_t width, std::uint32_t height,
                               std::span<const std::uint32_t> lengths,
                               const OffsetsOptions& options = {});

}  // namespace tensorpress::wafer::programs
