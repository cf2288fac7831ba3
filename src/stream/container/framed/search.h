// The chunks of a stream of version 1 that lost its footer: cut off, never finished, or with
// something behind its end.
#pragma once

#include <vector>

#include "stream/chunks/chunk_decoder.h"
#include "stream/container/framed/contents.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream::framed {

/// An entry for every chunk of the grid, looked for from `begin` on by the frames that chunks begin
/// with; the offset is 0 where none was found. Whether payloads are whole is for the decoder to
/// say.
Result<std::vector<IndexEntry>> find_chunks(const ByteSource& source, const ChunkDecoder& decoder,
                                            std::uint64_t begin);

}  // namespace tensorpress::stream::framed
