// Reads .tpz streams (docs/format.md): at random positions from memory or a file, or in one pass
// from a pipe.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "codecs/chunk_codec.h"
#include "stream/chunks/chunk_grid.h"
#include "stream/container/byte_io.h"
#include "stream/tensor_io.h"
#include "stream/writer.h"
#include "tensorpress/stream.h"

namespace tensorpress::stream {

/// A chunk that cannot be read, and what stands in the output instead.
struct SkippedChunk {
  std::uint64_t number = 0;
  Region region;     // of the whole tensor
  double value = 0;  // of all its elements: the stream's first fill value, NaN, or 0
  const Error& error;
};

struct ReadOptions {
  std::size_t threads = 1;
  Runner runner = {};
  std::uint64_t max_bytes = std::uint64_t{1} << 40;
  Progress progress = {};
  /// How the codec is to compute, where it has a choice: {{"form", "matmul"}} for dct-chop.
  std::vector<Parameter> method = {};
  /// Chunks that cannot be read are reported here instead of ending the work. Their elements are
  /// the stream's first fill value if it has one, else NaN, or 0 among whole numbers: zeros among
  /// floats would look like data.
  std::function<void(const SkippedChunk& chunk)> skip_corrupt = {};
};

class StreamReader {
 public:
  /// Checks everything but the chunks. The source must outlive the reader.
  static Result<StreamReader> open(const ByteSource& source);
  /// For a stream whose end is damaged: chunks are found by their frames, the others cannot be
  /// read; info() has no statistics.
  static Result<StreamReader> open_without_footer(const ByteSource& source);

  const StreamInfo& info() const;
  const ChunkGrid& grid() const;
  /// Decodes one chunk into `output`, which has the chunk's own shape. Safe to call from several
  /// threads.
  Result<void> read_chunk(std::uint64_t number, const MutableTensorView& output,
                          ChunkWorkspace& workspace) const;
  /// Every chunk, in order.
  Result<void> read_all(TensorSink& sink, const ReadOptions& options) const;
  /// `count` chunks from `first` on, in order.
  Result<void> read_chunks(std::uint64_t first, std::uint64_t count, TensorSink& sink,
                           const ReadOptions& options) const;
  /// Only the chunks with these numbers, which ascend. The sink sees regions of the whole tensor.
  Result<void> read_chunks(std::span<const std::uint64_t> numbers, TensorSink& sink,
                           const ReadOptions& options) const;
  /// Only the chunks that `part` needs. The sink sees regions of a tensor of the part's own shape.
  Result<void> read_region(const Region& part, TensorSink& sink, const ReadOptions& options) const;

 private:
  struct State;
  explicit StreamReader(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// One pass over a stream that cannot seek. `make_sink` is called once with what the header says;
/// the returned info is complete, with the footer's statistics.
Result<StreamInfo> read_sequentially(
    ByteInput& input,
    const std::function<Result<std::unique_ptr<TensorSink>>(const StreamInfo&)>& make_sink,
    const ReadOptions& options);

}  // namespace tensorpress::stream
