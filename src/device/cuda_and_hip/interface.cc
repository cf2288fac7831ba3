#include "device/cuda_and_hip/interface.h"

#include <initializer_list>
#include <vector>

#include "base/errors.h"
#include "base/shared_library.h"

namespace tensorpress::device {
namespace {

using Names = std::initializer_list<const char*>;

Result<SharedLibrary> open_library(GpuInterface which, Names names, std::string_view package) {
  auto library = SharedLibrary::open(names, SharedLibrary::Symbols::hidden);
  if (!library.ok()) {
    return unsupported("devices of ", name_of(which), " need ", *names.begin(), " (",
                       library.error().message, "): install ", package);
  }
  return library;
}

}  // namespace

std::string_view name_of(GpuInterface which) {
  return which == GpuInterface::cuda ? "cuda" : "hip";
}

Result<GpuFunctions> GpuFunctions::load(GpuInterface which) {
  GpuFunctions table;
  if (which == GpuInterface::cuda) {
    TRY(const auto driver, open_library(which, {"libcuda.so.1", "libcuda.so"}, "NVIDIA's driver"));
    RETURN_IF_ERROR(driver.find("cuInit", table.init));
    RETURN_IF_ERROR(driver.find("cuDeviceGetCount", table.device_count));
    RETURN_IF_ERROR(driver.find("cuDeviceGetName", table.device_name));
    RETURN_IF_ERROR(driver.find("cuDeviceTotalMem_v2", table.total_memory));
    RETURN_IF_ERROR(driver.find("cuDeviceGetAttribute", table.attribute));
    RETURN_IF_ERROR(driver.find("cuMemAlloc_v2", table.allocate));
    RETURN_IF_ERROR(driver.find("cuMemFree_v2", table.free));
    RETURN_IF_ERROR(driver.find("cuMemcpyHtoD_v2", table.to_device));
    RETURN_IF_ERROR(driver.find("cuMemcpyDtoH_v2", table.from_device));
    RETURN_IF_ERROR(driver.find("cuMemsetD8_v2", table.fill));
    RETURN_IF_ERROR(driver.find("cuCtxSynchronize", table.synchronize));
    RETURN_IF_ERROR(driver.find("cuModuleLoadData", table.load_module));
    RETURN_IF_ERROR(driver.find("cuModuleUnload", table.unload_module));
    RETURN_IF_ERROR(driver.find("cuModuleGetFunction", table.function));
    RETURN_IF_ERROR(driver.find("cuLaunchKernel", table.launch));
    RETURN_IF_ERROR(driver.find("cuDevicePrimaryCtxRetain", table.retain_context));
    RETURN_IF_ERROR(driver.find("cuDevicePrimaryCtxRelease_v2", table.release_context));
    RETURN_IF_ERROR(driver.find("cuCtxSetCurrent", table.set_context));
    TRY(const auto compiler,
        open_library(which, {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"},
                     "CUDA's run-time compiler (nvrtc)"));
    RETURN_IF_ERROR(compiler.find("nvrtcCreateProgram", table.create_program));
    RETURN_IF_ERROR(compiler.find("nvrtcCompileProgram", table.compile));
    RETURN_IF_ERROR(compiler.find("nvrtcGetPTXSize", table.code_size));
    RETURN_IF_ERROR(compiler.find("nvrtcGetPTX", table.code));
    RETURN_IF_ERROR(compiler.find("nvrtcGetProgramLogSize", table.log_size));
    RETURN_IF_ERROR(compiler.find("nvrtcGetProgramLog", table.log));
    RETURN_IF_ERROR(compiler.find("nvrtcDestroyProgram", table.destroy_program));
    return table;
  }
  TRY(const auto driver,
      open_library(which, {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"},
                   "AMD's ROCm runtime"));
  RETURN_IF_ERROR(driver.find("hipInit", table.init));
  RETURN_IF_ERROR(driver.find("hipGetDeviceCount", table.device_count));
  RETURN_IF_ERROR(driver.find("hipDeviceGetName", table.device_name));
  RETURN_IF_ERROR(driver.find("hipDeviceTotalMem", table.total_memory));
  RETURN_IF_ERROR(driver.find("hipDeviceGetAttribute", table.attribute));
  RETURN_IF_ERROR(driver.find("hipMalloc", table.allocate));
  RETURN_IF_ERROR(driver.find("hipFree", table.free));
  RETURN_IF_ERROR(driver.find("hipMemcpyHtoD", table.to_device));
  RETURN_IF_ERROR(driver.find("hipMemcpyDtoH", table.from_device));
  RETURN_IF_ERROR(driver.find("hipMemsetD8", table.fill));
  RETURN_IF_ERROR(driver.find("hipDeviceSynchronize", table.synchronize));
  RETURN_IF_ERROR(driver.find("hipModuleLoadData", table.load_module));
  RETURN_IF_ERROR(driver.find("hipModuleUnload", table.unload_module));
  RETURN_IF_ERROR(driver.find("hipModuleGetFunction", table.function));
  RETURN_IF_ERROR(driver.find("hipModuleLaunchKernel", table.launch));
  RETURN_IF_ERROR(driver.find("hipSetDevice", table.set_device));
  TRY(const auto compiler, open_library(which, {"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6"},
                                        "ROCm's run-time compiler (hiprtc)"));
  RETURN_IF_ERROR(compiler.find("hiprtcCreateProgram", table.create_program));
  RETURN_IF_ERROR(compiler.find("hiprtcCompileProgram", table.compile));
  RETURN_IF_ERROR(compiler.find("hiprtcGetCodeSize", table.code_size));
  RETURN_IF_ERROR(compiler.find("hiprtcGetCode", table.code));
  RETURN_IF_ERROR(compiler.find("hiprtcGetProgramLogSize", table.log_size));
  RETURN_IF_ERROR(compiler.find("hiprtcGetProgramLog", table.log));
  RETURN_IF_ERROR(compiler.find("hiprtcDestroyProgram", table.destroy_program));
  return table;
}

Result<std::string> compile_kernels(const GpuFunctions& gpu, GpuInterface which,
                                    const std::string& source, const std::string& architecture) {
  void* program = nullptr;
  if (gpu.create_program(&program, source.c_str(), "kernels", 0, nullptr, nullptr) != 0) {
    return io_error(name_of(which), ": the compiler takes no kernels");
  }
  // No product is fused with a sum: streams are the same bytes everywhere.
  std::vector<std::string> options;
  options.push_back(which == GpuInterface::cuda ? "--fmad=false" : "-ffp-contract=off");
  if (!architecture.empty()) options.push_back("--gpu-architecture=" + architecture);
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const int status = gpu.compile(program, static_cast<int>(texts.size()), texts.data());
  std::size_t size = 0;
  std::string code;
  if (status == 0 && gpu.code_size(program, &size) == 0) {
    code.resize(size);
    if (gpu.code(program, code.data()) != 0) code.clear();
  }
  std::string log;
  if (code.empty() && gpu.log_size(program, &size) == 0) {
    log.resize(size);
    (void)gpu.log(program, log.data());
  }
  (void)gpu.destroy_program(&program);
  if (code.empty()) {
    return io_error(name_of(which), ": the kernels do not compile (status ", status,
                    "): ", log.substr(0, 2000));
  }
  return code;
}

}  // namespace tensorpress::device
