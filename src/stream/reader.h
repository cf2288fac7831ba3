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
  Result<void> read_all(TensorSink& sink, const DecompressOptions& options) const;
  /// `count` chunks from `first` on, in order.
  Result<void> read_chunks(std::uint64_t first, std::uint64_t count, TensorSink& sink,
                           const DecompressOptions& options) const;
  /// Only the chunks with these numbers, which ascend. The sink sees regions of the whole tensor.
  Result<void> read_chunks(std::span<const std::uint64_t> numbers, TensorSink& sink,
                           const DecompressOptions& options) const;
  /// Only the chunks that `part` needs. The sink sees regions of a tensor of the part's own shape.
  Result<void> read_region(const Region& part, TensorSink& sink,
                           const DecompressOptions& options) const;

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
    const DecompressOptions& options);

}  // namespace tensorpress::stream
