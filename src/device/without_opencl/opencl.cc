// What a build without OpenCL's headers has.
#include "device/opencl/opencl.h"

#include "base/errors.h"

namespace tensorpress::device {
namespace {

Error not_built() {
  return unsupported(
      "this build has no support for devices: it was made without OpenCL's headers "
      "(on Debian: opencl-c-headers)");
}

}  // namespace

std::vector<DeviceInfo> opencl_devices() {
  return {};
}
Result<std::unique_ptr<Backend>> open_opencl(std::size_t) {
  return not_built();
}
Result<std::unique_ptr<Backend>> adopt_opencl(void*, void*, void*) {
  return not_built();
}

}  // namespace tensorpress::device
