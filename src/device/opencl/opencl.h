// Devices through OpenCL 1.2.
#pragma once

#include <memory>
#include <vector>

#include "device/backend.h"

namespace tensorpress::device {

/// Nothing where there is no loader.
std::vector<DeviceInfo> opencl_devices();
/// The device with this number among opencl_devices(). The error says what there is.
Result<std::unique_ptr<Backend>> open_opencl(std::size_t number);
/// The caller's cl_context, cl_device_id and cl_command_queue.
Result<std::unique_ptr<Backend>> adopt_opencl(void* context, void* device, void* queue);

}  // namespace tensorpress::device
