// Reads streams of version 1: at random by their index, without it, and in one pass.
#pragma once

#include "stream/chunks/chunk_decoder.h"
#include "stream/container/framed/frame.h"
#include "stream/container/opened_stream.h"

namespace tensorpress::stream::framed {

/// The source lies open behind the first kPrologueBytes.
Result<OpenedStream> open(const ByteSource& source);
Result<OpenedStream> open_without_footer(const ByteSource& source);
Result<StreamInfo> read_in_order(StreamInput& input, const MakeSink& make_sink,
                                 const DecompressOptions& options);

/// Everything in the frame of chunk `number` but the checksum. Nothing may be allocated for the
/// payload before this.
Result<void> check_frame(const ChunkDecoder& decoder, std::uint64_t number, const Frame& frame);

}  // namespace tensorpress::stream::framed
