// A first look at a whole tensor: its value range without NaN, infinities and fill values, and some
// of the values that count.
#pragma once

#include <span>
#include <vector>

#include "base/cpu.h"
#include "codecs/chunk_codec.h"
#include "stream/chunks/chunk_grid.h"
#include "stream/tensor_io.h"
#include "tensorpress/bound.h"
#include "tensorpress/parallel.h"

namespace tensorpress::stream {

struct Survey {
  ValueRange range = {};             // 0 to 0 when no value counts
  bool has_values = false;           // some value does
  std::vector<double> samples = {};  // from all over the tensor
  std::vector<ChunkHint> chunks = {};
};

Result<Survey> survey_values(TensorSource& source, const ChunkGrid& grid,
                             std::span<const double> fill_values, const Runner& runner,
                             std::size_t threads, Isa isa);

/// The two halves of a survey, for processes that look at some of the chunks each: what was seen of
/// these, in their order, and what follows from all of them.
struct Sighting {
  ChunkHint hint;
  std::vector<double> samples;
};
Result<std::vector<Sighting>> look_at_chunks(TensorSource& source, const ChunkGrid& grid,
                                             std::span<const std::uint64_t> chunks,
                                             std::span<const double> fill_values,
                                             const Runner& runner, std::size_t threads, Isa isa);
Survey conclude(std::span<const Sighting> all_chunks);

}  // namespace tensorpress::stream
