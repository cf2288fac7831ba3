// From a chunk's payload to its elements: what all readers share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "codecs/chunk_codec.h"
#include "stream/chunks/chunk_feed.h"
#include "stream/chunks/chunk_grid.h"
#include "stream/container/format.h"
#include "tensorpress/stream.h"
#include "tensorpress/version.h"

namespace tensorpress::stream {

class ChunkDecoder {
 public:
  static Result<ChunkDecoder> make(const Header& header);

  const ChunkGrid& grid() const { return grid_; }
  DType dtype() const { return dtype_; }
  /// What stands for elements that are lost: the stream's first fill value, else NaN, and 0 among
  /// whole numbers, which have none.
  double missing_value() const { return missing_value_; }

  /// Whether a chunk of this stream can have so many bytes. Nothing may be allocated for the
  /// payload before this. Fixed-rate codecs leave two choices, so a short stream cannot claim a
  /// large tensor.
  Result<void> check_payload_size(std::uint64_t number, std::uint64_t payload_bytes) const;
  /// Decodes into `output`, which has the chunk's shape, and checks the checksum on the way. After
  /// an error `output` holds anything.
  Result<void> decode(std::uint64_t number, const FetchedChunk& chunk,
                      const MutableTensorView& output, ChunkWorkspace& workspace) const;
  /// What decoding one of the larger chunks needs: its elements and its payload.
  std::uint64_t working_bytes() const;

 private:
  ChunkDecoder(std::shared_ptr<const ChunkCodec> codec, const ChunkGrid& grid, DType dtype,
               double missing_value)
      : codec_(std::move(codec)), grid_(grid), dtype_(dtype), missing_value_(missing_value) {}

  std::shared_ptr<const ChunkCodec> codec_;
  ChunkGrid grid_;
  DType dtype_;
  double missing_value_;
};

/// What a header and a grid say, without attributes, statistics and sizes.
StreamInfo info_of(const Header& header, const ChunkGrid& grid,
                   unsigned format_version = kFormatVersion);

/// Refuses tensors of more than `max_bytes`.
Result<void> check_decompressed_size(const StreamInfo& info, std::uint64_t max_bytes);

}  // namespace tensorpress::stream
