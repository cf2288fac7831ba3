// Chunks in order from a stream to a tensor sink, several decoded at once.
#pragma once

#include <cstdint>
#include <span>

#include "stream/chunks/chunk_decoder.h"
#include "stream/chunks/for_chunks.h"
#include "stream/container/format.h"
#include "stream/reader.h"
#include "tensorpress/aligned_buffer.h"

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

/// Those with these numbers; the feed must find them.
Result<void> decode_in_order(const ChunkDecoder& decoder, ChunkFeed& feed,
                             const ChunkNumbers& numbers, TensorSink& sink,
                             const DecompressOptions& options);

}  // namespace tensorpress::stream
