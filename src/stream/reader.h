// What the library itself asks of a StreamReader (tensorpress/streaming.h), beyond what it shows to
// users.
#pragma once

#include "codecs/chunk_codec.h"
#include "stream/chunks/chunk_feed.h"
#include "stream/chunks/chunk_grid.h"
#include "tensorpress/streaming.h"

namespace tensorpress {

struct ReaderAccess {
  static const stream::ChunkGrid& grid(const StreamReader& reader);
  /// A chunk's payload, not yet compared with its checksum; `scratch` may hold it.
  static Result<stream::FetchedChunk> fetch(const StreamReader& reader, std::uint64_t number,
                                            AlignedBuffer& scratch);
  /// Decodes one chunk into `output`, which has the chunk's own shape. Safe to call from several
  /// threads.
  static Result<void> read_chunk(const StreamReader& reader, std::uint64_t number,
                                 const MutableTensorView& output, ChunkWorkspace& workspace);
};

}  // namespace tensorpress
