// Reads streams of version 2: at random by their index, without it, and in one pass.
#pragma once

#include "stream/container/opened_stream.h"

namespace tensorpress::stream::compact {

/// The source lies open behind the first kPrologueBytes.
Result<OpenedStream> open(const ByteSource& source);
Result<OpenedStream> open_without_footer(const ByteSource& source);
Result<StreamInfo> read_in_order(StreamInput& input, const MakeSink& make_sink,
                                 const DecompressOptions& options);

}  // namespace tensorpress::stream::compact
