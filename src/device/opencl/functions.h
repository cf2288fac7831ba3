// OpenCL's loader, opened while the program runs.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "tensorpress/result.h"

namespace tensorpress::device {

#define TENSORPRESS_OPENCL_FUNCTIONS(use)                                                       \
  use(clGetPlatformIDs) use(clGetPlatformInfo) use(clGetDeviceIDs) use(clGetDeviceInfo)         \
      use(clCreateContext) use(clReleaseContext) use(clCreateCommandQueue)                      \
          use(clReleaseCommandQueue) use(clCreateBuffer) use(clReleaseMemObject)                \
              use(clEnqueueReadBuffer) use(clEnqueueWriteBuffer) use(clEnqueueFillBuffer)       \
                  use(clCreateProgramWithSource) use(clBuildProgram) use(clGetProgramBuildInfo) \
                      use(clReleaseProgram) use(clCreateKernel) use(clSetKernelArg)             \
                          use(clReleaseKernel) use(clEnqueueNDRangeKernel) use(clFinish)

struct OpenClFunctions {
#define TENSORPRESS_DECLARE(name) decltype(&::name) name = nullptr;
  TENSORPRESS_OPENCL_FUNCTIONS(TENSORPRESS_DECLARE)
#undef TENSORPRESS_DECLARE

  static Result<OpenClFunctions> load();
};

/// What a status means, in words.
std::string_view opencl_status(cl_int status);

}  // namespace tensorpress::device
