// Chunks in order from a stream to a tensor sink, several decoded at once.
#pragma once

#include "stream/chunks/chunk_decoder.h"
#include "stream/chunks/chunk_feed.h"
#include "stream/chunks/for_chunks.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream {

/// Those with these numbers; the feed must find them.
Result<void> decode_in_order(const ChunkDecoder& decoder, ChunkFeed& feed,
                             const ChunkNumbers& numbers, TensorSink& sink,
                             const DecompressOptions& options);

}  // namespace tensorpress::stream
