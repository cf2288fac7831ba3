// The chunks of a stream of version 2 that lost its footer: cut off, never finished, or with
// something behind its end. Only what a checksum proves is found: a record counts if its own is
// right, and a repeat if a record with a right one follows.
#pragma once

#include <vector>

#include "stream/chunks/chunk_decoder.h"
#include "stream/container/compact/record.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream::compact {

struct FoundChunk {
  std::uint64_t offset = 0;  // of its record; 0 if it was not found
  Record record;
  std::uint64_t repeated = 0;  // of a repeat: which of FoundChunks::repeated
};

struct FoundChunks {
  std::vector<FoundChunk> chunks;  // one for every chunk of the grid
  std::vector<ShortPayload> repeated;
};

/// Records begin at `begin`.
Result<FoundChunks> find_chunks(const ByteSource& source, const ChunkDecoder& decoder,
                                std::uint64_t begin);

}  // namespace tensorpress::stream::compact
