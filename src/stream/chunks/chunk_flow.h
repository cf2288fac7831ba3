// Chunks in order from a stream to a tensor sink, several decoded at once.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "stream/chunks/chunk_decoder.h"
#include "stream/container/format.h"
#include "stream/reader.h"

namespace tensorpress::stream {

struct FetchedChunk {
  Frame frame;
  std::span<const std::byte> payload;
};

/// Where chunks come from.
class ChunkFeed {
 public:
  virtual ~ChunkFeed() = default;
  /// Frame (checked by ChunkDecoder::check_frame) and payload of the next chunk; `scratch` may hold
  /// it. Called on one thread, in ascending order.
  virtual Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) = 0;
  /// Whether chunks after one that could not be fetched can still be found.
  virtual bool survives_errors() const = 0;
};

/// Every chunk.
Result<void> decode_in_order(const ChunkDecoder& decoder, ChunkFeed& feed, TensorSink& sink,
                             const ReadOptions& options);
/// Only those with these numbers, which ascend; the feed must find them.
Result<void> decode_in_order(const ChunkDecoder& decoder, ChunkFeed& feed,
                             std::span<const std::uint64_t> numbers, TensorSink& sink,
                             const ReadOptions& options);

}  // namespace tensorpress::stream
