// Compression for its size and error alone: what a search for a bound looks at.
#pragma once

#include <span>
#include <vector>

#include "codecs/chunk_codec.h"
#include "stream/chunks/chunk_grid.h"
#include "stream/chunks/execution.h"
#include "stream/container/compact/record.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream {

/// Of many chunks.
struct Trial {
  std::uint64_t elements = 0;  // without special values
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;  // records, and what stands behind them
  double squared_error = 0;

  double ratio() const { return static_cast<double>(bytes_in) / static_cast<double>(bytes_out); }
  double mean_squared_error() const {
    return elements == 0 ? 0 : squared_error / static_cast<double>(elements);
  }
};

/// Of one chunk.
struct ChunkTrial {
  std::uint64_t elements = 0;
  std::uint64_t bytes_in = 0;
  compact::ChunkOutline outline;
};
/// In the order of the chunks, so that it does not depend on who tried them: as if a stream had
/// been written of them.
Result<Trial> sum_of(std::span<const ChunkTrial> trials);

/// What each of the chunks comes to, in their order.
Result<std::vector<ChunkTrial>> try_chunks(const ChunkCodec& codec, TensorSource& source,
                                           const ChunkGrid& grid,
                                           std::span<const std::uint64_t> chunks,
                                           const Execution& execution);
/// All of them together.
Result<Trial> run_trial(const ChunkCodec& codec, TensorSource& source, const ChunkGrid& grid,
                        std::span<const std::uint64_t> chunks, const Execution& execution);

inline constexpr std::uint64_t kSampleBytes = std::uint64_t{16} << 20;
/// A few chunks spread over the tensor, of some `bytes` together; all of them if it is small.
std::vector<std::uint64_t> sample_chunks(const ChunkGrid& grid, DType dtype,
                                         std::uint64_t bytes = kSampleBytes);
std::vector<std::uint64_t> all_chunks(const ChunkGrid& grid);

}  // namespace tensorpress::stream
