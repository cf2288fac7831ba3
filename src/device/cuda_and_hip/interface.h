// NVIDIA's driver and AMD's runtime, opened while the program runs, with their compilers of kernels
// (libcuda and libnvrtc, libamdhip64 and libhiprtc). Both have the same calls under other names, so
// that one table serves. Declared here, since a build takes no headers of theirs.
//
// Experimental: nothing of this has run on a GPU.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tensorpress/result.h"

namespace tensorpress::device {

enum class GpuInterface { cuda, hip };

/// Calls return 0 when all is well. Memory, contexts, modules and functions are handles of the size
/// of a pointer; CUdeviceptr is one of 64 bits.
struct GpuFunctions {
  int (*init)(unsigned flags) = nullptr;
  int (*device_count)(int* count) = nullptr;
  int (*device_name)(char* name, int length, int device) = nullptr;
  int (*total_memory)(std::size_t* bytes, int device) = nullptr;
  int (*attribute)(int* value, int attribute, int device) = nullptr;
  int (*allocate)(void** memory, std::size_t bytes) = nullptr;
  int (*free)(void* memory) = nullptr;
  int (*to_device)(void* to, const void* from, std::size_t bytes) = nullptr;
  int (*from_device)(void* to, const void* from, std::size_t bytes) = nullptr;
  int (*fill)(void* memory, unsigned char value, std::size_t count) = nullptr;
  int (*synchronize)() = nullptr;
  int (*load_module)(void** module, const void* image) = nullptr;
  int (*unload_module)(void* module) = nullptr;
  int (*function)(void** function, void* module, const char* name) = nullptr;
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                void** arguments, void** extra) = nullptr;
  // CUDA alone: the device's primary context, which a thread has to make its own.
  int (*retain_context)(void** context, int device) = nullptr;
  int (*release_context)(int device) = nullptr;
  int (*set_context)(void* context) = nullptr;
  // HIP alone.
  int (*set_device)(int device) = nullptr;

  // The compiler.
  int (*create_program)(void** program, const char* source, const char* name, int header_count,
                        const char* const* headers, const char* const* names) = nullptr;
  int (*compile)(void* program, int option_count, const char* const* options) = nullptr;
  int (*code_size)(void* program, std::size_t* size) = nullptr;
  int (*code)(void* program, char* code) = nullptr;
  int (*log_size)(void* program, std::size_t* size) = nullptr;
  int (*log)(void* program, char* log) = nullptr;
  int (*destroy_program)(void** program) = nullptr;

  /// The error names the library that is missing.
  static Result<GpuFunctions> load(GpuInterface which);
};

/// "cuda" or "hip", as in names of devices.
std::string_view name_of(GpuInterface which);

/// Code for the current device, or the compiler's complaints. `architecture` is "compute_90" or
/// empty, which HIP takes for the current device.
Result<std::string> compile_kernels(const GpuFunctions& gpu, GpuInterface which,
                                    const std::string& source, const std::string& architecture);

}  // namespace tensorpress::device
