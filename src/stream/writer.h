// Writes a .tpz stream (docs/format.md) chunk by chunk with bounded memory.
#pragma once

#include "stream/container/byte_io.h"
#include "stream/tensor_io.h"
#include "tensorpress/codec.h"
#include "tensorpress/stream.h"

namespace tensorpress::stream {

/// The info of the stream it wrote, statistics and byte counts included. A source without random
/// access needs chunks that follow each other in C order (ChunkGrid::is_sequential).
Result<StreamInfo> write_stream(const Codec& codec, TensorSource& source, ByteSink& sink,
                                const CompressOptions& options);

}  // namespace tensorpress::stream
