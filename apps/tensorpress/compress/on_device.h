// compress --device: the tensor goes to a device and is compressed there.
#pragma once

#include <string>

#include "tensorpress/streaming.h"

namespace tensorpress::cli {

/// As write_stream, with the same bytes.
Result<StreamInfo> write_stream_on_device(const std::string& device, const Codec& codec,
                                          TensorSource& source, ByteSink& sink,
                                          const CompressOptions& options);

}  // namespace tensorpress::cli
