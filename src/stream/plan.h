// What is decided before the first chunk of a stream is written, and what is added up until the
// last: shared by the writer for files and the compressor in memory, so that both write the same
// bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codecs/chunk_codec.h"
#include "stream/chunks/chunk_grid.h"
#include "stream/container/format.h"
#include "tensorpress/stream.h"

namespace tensorpress::stream {

struct StreamPlan {
  std::unique_ptr<const ChunkCodec> codec;
  ChunkGrid grid;
  Header header;
  std::vector<std::byte> opening;  // everything before the first chunk
};

/// `chunk_shape` absent: the codec chooses. Codecs with a bound have their fill values among their
/// parameters already; for others chunks with one of `fill_values` are stored raw.
Result<StreamPlan> plan_stream(const Codec& codec, DType dtype, const Shape& shape,
                               const std::optional<Shape>& chunk_shape,
                               std::span<const Attribute> attributes,
                               std::span<const double> fill_values = {});

/// Where chunks went and how large their error is. Chunks are added in order, so that sums are the
/// same for any number of threads.
class StreamTotals {
 public:
  explicit StreamTotals(std::uint64_t offset) : offset_(offset) {}

  /// The place of the next section.
  std::uint64_t offset() const { return offset_; }
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  void add(const CompressedChunk& chunk);
  Footer footer() &&;

 private:
  std::uint64_t offset_;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t raw_chunks_ = 0;
  double squared_error_ = 0;
  std::vector<IndexEntry> index_;
};

/// The frame of a chunk's section.
Frame chunk_frame(std::uint64_t number, const CompressedChunk& chunk);

}  // namespace tensorpress::stream
