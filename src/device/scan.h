// The first look at values on a device: what src/stream/bounds/survey.h does on the host, with the
// same results.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/chunk_batch.h"
#include "stream/bounds/resolve.h"

namespace tensorpress::device {

/// Whether there are kernels that look at such values.
bool can_scan(DType dtype);

/// One of each chunk of the batch, in order; of chunks that are left, nothing of use.
Result<std::vector<ChunkScan>> scan_chunks(Backend& backend, const DeviceTensor& tensor,
                                           const ChunkBatch& batch,
                                           std::span<const double> fill_values);

ChunkHint hint_of(const ChunkScan& scan);

/// Looks on the device where it can, and has the host look (`host`) where not. What is passed by
/// reference must outlive it.
std::unique_ptr<stream::DataLook> look_on_device(Backend& backend, const DeviceTensor& tensor,
                                                 stream::DataLook& host);

}  // namespace tensorpress::device
