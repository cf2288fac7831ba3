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
#include "stream/container/compact/contents.h"
#include "stream/container/compact/index.h"
#include "stream/container/compact/record.h"
#include "tensorpress/stream.h"

namespace tensorpress::stream {

struct StreamPlan {
  std::shared_ptr<const ChunkCodec> codec;
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

/// What stands behind the chunks, and what of it users see.
struct Closing {
  std::vector<std::byte> bytes;
  std::vector<Statistic> statistics;
};

/// Where chunks went and how large their error is. Chunks are added in order, so that sums are the
/// same for any number of threads.
class StreamTotals {
 public:
  explicit StreamTotals(std::uint64_t offset) : offset_(offset) {}

  /// The place of the next record.
  std::uint64_t offset() const { return offset_; }
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  /// True if this chunk repeats one before: then its record is repeat_record().
  bool add(const compact::ChunkOutline& outline);
  Result<Closing> close() &&;

 private:
  std::uint64_t offset_;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t raw_chunks_ = 0;
  double squared_error_ = 0;
  compact::IndexWriter index_;
  compact::Repeats repeats_;
};

/// All of a repeat.
std::span<const std::byte> repeat_record();

/// At least what stands behind so many chunks of these sizes at most.
std::uint64_t bound_on_closing(std::uint64_t chunk_count, std::uint64_t largest_payload);

}  // namespace tensorpress::stream
