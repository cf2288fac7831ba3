// Writes a .tpz stream (docs/format.md) chunk by chunk with bounded memory.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "stream/container/byte_io.h"
#include "stream/tensor_io.h"
#include "tensorpress/codec.h"
#include "tensorpress/parallel.h"
#include "tensorpress/stream.h"

namespace tensorpress::stream {

/// Elements done so far, of how many.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// What CompressOptions says about the bound.
struct BoundOptions {
  std::optional<Bound> bound = {};
  std::vector<double> fill_values = {};
  std::optional<ValueRange> value_range = {};
  bool whole_range = false;
  std::optional<Bound> earlier_error = {};
};

struct WriteOptions {
  BoundOptions bound = {};
  std::size_t threads = 1;
  /// Overrides `threads` when set; `threads` still says how many chunks are in flight.
  Runner runner = {};
  /// Chosen by the codec when absent. A source without random access needs chunks that follow each
  /// other in C order (ChunkGrid::is_sequential).
  std::optional<Shape> chunk_shape = {};
  std::vector<Attribute> attributes = {};
  Progress progress = {};
};

/// The info of the stream it wrote, statistics and byte counts included.
Result<StreamInfo> write_stream(const Codec& codec, TensorSource& source, ByteSink& sink,
                                const WriteOptions& options);

}  // namespace tensorpress::stream
