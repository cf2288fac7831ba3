// decompress --device: a stream becomes a tensor in the memory of a device, and is copied from
// there.
#pragma once

#include <string>

#include "tensorpress/stream.h"
#include "tensorpress/streaming.h"

namespace tensorpress::cli {

/// The whole tensor into `sink`. What it makes is what the host makes.
Result<void> read_stream_on_device(const std::string& device, const ByteSource& source,
                                   const StreamInfo& info, const DecompressOptions& options,
                                   TensorSink& sink);

}  // namespace tensorpress::cli
