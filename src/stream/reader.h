// Reads .tpz streams (docs/format.md): at random positions from memory or a file, or in one pass
// from a pipe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "codecs/chunk_codec.h"
#include "stream/byte_io.h"
#include "stream/chunk_grid.h"
#include "stream/tensor_io.h"
#include "stream/writer.h"
#include "tensorpress/stream.h"

namespace tensorpress::stream {

struct ReadOptions {
  std::size_t threads = 1;
  Runner runner = {};
  std::uint64_t max_bytes = std::uint64_t{1} << 40;
  Progress progress = {};
  /// How the codec is to compute, where it has a choice: {{"form", "matmul"}} for dct-chop.
  std::vector<Parameter> method = {};
  /// Chunks that cannot be read are left out (zeros in the output) and reported here instead of
  /// ending the work.
  std::function<void(std::uint64_t chunk, const Error& error)> skip_corrupt = {};
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
