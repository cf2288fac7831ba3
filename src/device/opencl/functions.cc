#include "device/opencl/functions.h"

#include "base/errors.h"
#include "base/shared_library.h"

namespace tensorpress::device {

Result<OpenClFunctions> OpenClFunctions::load() {
  auto library =
      SharedLibrary::open({"libOpenCL.so.1", "libOpenCL.so"}, SharedLibrary::Symbols::hidden);
  if (!library.ok()) {
    return unsupported("there is no OpenCL loader (", library.error().message,
                       "): install your device's driver and ocl-icd-libopencl1");
  }
  OpenClFunctions table;
#define TENSORPRESS_FIND(name) RETURN_IF_ERROR(library->find(#name, table.name));
  TENSORPRESS_OPENCL_FUNCTIONS(TENSORPRESS_FIND)
#undef TENSORPRESS_FIND
  return table;
}

std::string_view opencl_status(cl_int status) {
  switch (status) {
    case CL_DEVICE_NOT_AVAILABLE:
      return "the device is not available";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_INVALID_BUFFER_SIZE:
      return "the device has not enough memory";
    case CL_OUT_OF_HOST_MEMORY:
      return "the host has not enough memory";
    case CL_BUILD_PROGRAM_FAILURE:
      return "the kernels do not compile";
    case CL_INVALID_MEM_OBJECT:
    case CL_INVALID_CONTEXT:
      return "memory of another device or context";
    default:
      return "the driver refused";
  }
}

}  // namespace tensorpress::device
