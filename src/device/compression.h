// Whole tensors on a device to streams and back: batches of chunks through the kernels of a coder,
// everything else as the host does it.
#pragma once

#include "device/backend.h"

namespace tensorpress::device {

/// Whether a caller's tensor can be one.
Result<void> check_tensor(const DeviceTensor& tensor);

Result<std::vector<std::byte>> compress(Backend& backend, const DeviceTensor& input,
                                        const Codec& codec, const CompressOptions& options,
                                        Work& work);
Result<void> decompress(Backend& backend, std::span<const std::byte> stream,
                        const DeviceTensor& output, const DecompressOptions& options, Work& work);

}  // namespace tensorpress::device
