// Devices of NVIDIA and AMD through their own interfaces. Experimental: compiled, never run.
#pragma once

#include <memory>
#include <vector>

#include "device/backend.h"
#include "device/cuda_and_hip/interface.h"

namespace tensorpress::device {

/// Nothing where a library is missing or there is no device.
std::vector<DeviceInfo> gpus(GpuInterface which);
Result<std::unique_ptr<Backend>> open_gpu(GpuInterface which, std::size_t number);

}  // namespace tensorpress::device
