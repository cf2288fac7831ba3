#include "device/opencl/opencl.h"

#include <cstdlib>
#include <map>
#include <span>
#include <string>

#include "base/errors.h"
#include "device/kernel_text.h"
#include "device/opencl/functions.h"

namespace tensorpress::device {

namespace {

// Arrays in local memory of the largest kernel, by layout of work (kernels/language.h).
constexpr cl_ulong kLocalBytes = 38400;
constexpr cl_ulong kLocalBytesOnCpu = 72 << 10;

Error failed(std::string_view what, cl_int status) {
  const bool memory = status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_RESOURCES ||
                      status == CL_INVALID_BUFFER_SIZE;
  Error error = io_error("OpenCL: ", what, ": ", opencl_status(status), " (status ", status, ")");
  if (memory) error.code = ErrorCode::too_large;
  return error;
}

struct Found {
  cl_platform_id platform;
  cl_device_id device;
};

template <class T>
T fact_of(const OpenClFunctions& cl, cl_device_id device, cl_device_info which) {
  T value{};
  cl.clGetDeviceInfo(device, which, sizeof value, &value, nullptr);
  return value;
}

std::string text_of(const OpenClFunctions& cl, cl_device_id device, cl_device_info which) {
  std::size_t size = 0;
  cl.clGetDeviceInfo(device, which, 0, nullptr, &size);
  std::string value(size, '\0');
  cl.clGetDeviceInfo(device, which, size, value.data(), nullptr);
  while (!value.empty() && (value.back() == '\0' || value.back() == ' ')) value.pop_back();
  return value;
}

// Graphics processors first: who asks for "opencl" means these.
std::vector<Found> find_devices(const OpenClFunctions& cl) {
  cl_uint platform_count = 0;
  if (cl.clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS) return {};
  std::vector<cl_platform_id> platforms(platform_count);
  cl.clGetPlatformIDs(platform_count, platforms.data(), nullptr);
  std::vector<Found> found;
  for (const cl_device_type type :
       {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ACCELERATOR},
        cl_device_type{CL_DEVICE_TYPE_CPU}}) {
    for (const cl_platform_id platform : platforms) {
      cl_uint count = 0;
      if (cl.clGetDeviceIDs(platform, type, 0, nullptr, &count) != CL_SUCCESS) continue;
      std::vector<cl_device_id> devices(count);
      cl.clGetDeviceIDs(platform, type, count, devices.data(), nullptr);
      for (const cl_device_id device : devices) found.push_back({platform, device});
    }
  }
  return found;
}

DeviceInfo info_of(const OpenClFunctions& cl, cl_device_id device, std::size_t number) {
  return {.name = text("opencl:", number),
          .description =
              text_of(cl, device, CL_DEVICE_NAME) + ", " + text_of(cl, device, CL_DEVICE_VERSION),
          .memory_bytes = fact_of<cl_ulong>(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE)};
}

Result<void> check_device(const OpenClFunctions& cl, cl_device_id device) {
  const auto lacks = [&](std::string_view what) {
    return unsupported("device ", text_of(cl, device, CL_DEVICE_NAME),
                       " lacks what our kernels "
                       "need: ",
                       what);
  };
  if (fact_of<cl_bool>(cl, device, CL_DEVICE_ENDIAN_LITTLE) != CL_TRUE) {
    return lacks("little-endian memory");
  }
  if (fact_of<std::size_t>(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE) < Backend::kGroupThreads) {
    return lacks("work groups of 256");
  }
  if (fact_of<cl_ulong>(cl, device, CL_DEVICE_LOCAL_MEM_SIZE) < kLocalBytes) {
    return lacks("37.5 KiB of local memory");
  }
  if (fact_of<cl_bool>(cl, device, CL_DEVICE_COMPILER_AVAILABLE) != CL_TRUE) {
    return lacks("a compiler for kernels");
  }
  return {};
}

// Whether work is laid out for a CPU. TENSORPRESS_DEVICE_LAYOUT decides otherwise, so that tests
// run on a CPU what a GPU would.
bool has_layout_of_cpus(const OpenClFunctions& cl, cl_device_id device) {
  if (fact_of<cl_ulong>(cl, device, CL_DEVICE_LOCAL_MEM_SIZE) < kLocalBytesOnCpu) return false;
  const char* const wanted = std::getenv("TENSORPRESS_DEVICE_LAYOUT");
  if (wanted != nullptr && std::string_view(wanted) == "gpu") return false;
  if (wanted != nullptr && std::string_view(wanted) == "cpu") return true;
  const auto type = fact_of<cl_device_type>(cl, device, CL_DEVICE_TYPE);
  return (type & CL_DEVICE_TYPE_CPU) != 0 && (type & CL_DEVICE_TYPE_GPU) == 0;
}

class OpenCl final : public Backend {
 public:
  OpenCl(const OpenClFunctions& cl, DeviceInfo info, cl_context context, cl_device_id device,
         cl_command_queue queue, bool ours)
      : cl_(cl),
        info_(std::move(info)),
        context_(context),
        device_(device),
        queue_(queue),
        ours_(ours) {}
  OpenCl(const OpenCl&) = delete;
  OpenCl& operator=(const OpenCl&) = delete;
  ~OpenCl() override {
    cl_.clFinish(queue_);
    for (const auto& [name, kernel] : kernels_) cl_.clReleaseKernel(kernel);
    for (const auto& [name, program] : programs_) cl_.clReleaseProgram(program);
    if (!ours_) return;
    cl_.clReleaseCommandQueue(queue_);
    cl_.clReleaseContext(context_);
  }

  const DeviceInfo& info() const override { return info_; }
  bool has_doubles() const override {
    return fact_of<cl_device_fp_config>(cl_, device_, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  }

  Result<Buffer> allocate(std::uint64_t bytes) override {
    cl_int status = CL_SUCCESS;
    const std::uint64_t size = bytes == 0 ? 4 : bytes;
    cl_mem memory = nullptr;
    if (size <= SIZE_MAX) {
      memory = cl_.clCreateBuffer(context_, CL_MEM_READ_WRITE, static_cast<std::size_t>(size),
                                  nullptr, &status);
    } else {
      status = CL_INVALID_BUFFER_SIZE;
    }
    if (status != CL_SUCCESS) return failed(text("allocating ", human_bytes(size)), status);
    const auto release = cl_.clReleaseMemObject;
    return Buffer(std::shared_ptr<void>(
                      memory, [release](void* object) { release(static_cast<cl_mem>(object)); }),
                  bytes);
  }

  Result<void> upload(std::span<const std::byte> bytes, const Memory& to) override {
    if (bytes.empty()) return {};
    return check("copying to the device",
                 cl_.clEnqueueWriteBuffer(queue_, static_cast<cl_mem>(to.handle), CL_TRUE,
                                          static_cast<std::size_t>(to.offset), bytes.size(),
                                          bytes.data(), 0, nullptr, nullptr));
  }

  Result<void> download(const Memory& from, std::span<std::byte> bytes) override {
    if (bytes.empty()) return {};
    return check("copying from the device",
                 cl_.clEnqueueReadBuffer(queue_, static_cast<cl_mem>(from.handle), CL_TRUE,
                                         static_cast<std::size_t>(from.offset), bytes.size(),
                                         bytes.data(), 0, nullptr, nullptr));
  }

  Result<void> finish() override { return check("waiting for the device", cl_.clFinish(queue_)); }

  Result<void> clear(const Memory& memory, std::uint64_t bytes) override {
    if (bytes == 0) return {};
    const cl_uchar zero = 0;
    return check("clearing memory",
                 cl_.clEnqueueFillBuffer(queue_, static_cast<cl_mem>(memory.handle), &zero,
                                         sizeof zero, static_cast<std::size_t>(memory.offset),
                                         static_cast<std::size_t>(bytes), 0, nullptr, nullptr));
  }

  Result<void> launch(std::string_view source, const char* kernel, std::uint64_t groups,
                      std::initializer_list<Argument> arguments) override {
    if (groups == 0) return {};
    TRY(const cl_kernel ready, kernel_of(source, kernel));
    cl_uint index = 0;
    for (const Argument& argument : arguments) {
      const cl_int status = std::visit(
          [&](const auto& value) { return cl_.clSetKernelArg(ready, index, sizeof value, &value); },
          argument);
      RETURN_IF_ERROR(check(text("argument ", index, " of ", kernel), status));
      ++index;
    }
    const std::size_t local = kGroupThreads;
    const std::size_t global = kGroupThreads * static_cast<std::size_t>(groups);
    return check(text("kernel ", kernel),
                 cl_.clEnqueueNDRangeKernel(queue_, ready, 1, nullptr, &global, &local, 0, nullptr,
                                            nullptr));
  }

 private:
  static Result<void> check(std::string_view what, cl_int status) {
    if (status != CL_SUCCESS) return failed(what, status);
    return {};
  }

  Result<cl_kernel> kernel_of(std::string_view source, const char* name) {
    const auto key = std::pair(std::string(source), std::string(name));
    if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
    TRY(const cl_program program, program_of(source));
    cl_int status = CL_SUCCESS;
    const cl_kernel kernel = cl_.clCreateKernel(program, name, &status);
    if (status != CL_SUCCESS) return failed(text("kernel ", name), status);
    kernels_.emplace(key, kernel);
    return kernel;
  }

  // Compiled when the first of its kernels is needed.
  Result<cl_program> program_of(std::string_view source) {
    if (const auto known = programs_.find(source); known != programs_.end()) return known->second;
    const std::string code = kernel_text(source);
    const char* start = code.c_str();
    const std::size_t length = code.size();
    cl_int status = CL_SUCCESS;
    const cl_program program = cl_.clCreateProgramWithSource(context_, 1, &start, &length, &status);
    if (status != CL_SUCCESS) return failed(text("kernels of ", source), status);
    // No option that loosens arithmetic: streams are the same bytes everywhere.
    const char* const options =
        has_layout_of_cpus(cl_, device_) ? "-cl-std=CL1.2 -DTENSORPRESS_ON_CPU" : "-cl-std=CL1.2";
    status = cl_.clBuildProgram(program, 1, &device_, options, nullptr, nullptr);
    if (status != CL_SUCCESS) {
      const std::string log = build_log(program);
      cl_.clReleaseProgram(program);
      Error error = failed(text("kernels of ", source), status);
      error.message += ": " + log;
      return error;
    }
    programs_.emplace(std::string(source), program);
    return program;
  }

  std::string build_log(cl_program program) const {
    std::size_t size = 0;
    cl_.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    cl_.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    return log.substr(0, 2000);
  }

  OpenClFunctions cl_;
  DeviceInfo info_;
  cl_context context_;
  cl_device_id device_;
  cl_command_queue queue_;
  bool ours_;
  std::map<std::string, cl_program, std::less<>> programs_;
  std::map<std::pair<std::string, std::string>, cl_kernel> kernels_;
};

}  // namespace

std::vector<DeviceInfo> opencl_devices() {
  const auto cl = OpenClFunctions::load();
  if (!cl.ok()) return {};
  std::vector<DeviceInfo> infos;
  for (const Found& found : find_devices(*cl)) {
    infos.push_back(info_of(*cl, found.device, infos.size()));
  }
  return infos;
}

Result<std::unique_ptr<Backend>> open_opencl(std::size_t number) {
  TRY(const auto cl, OpenClFunctions::load());
  const auto found = find_devices(cl);
  if (found.empty()) {
    return unsupported("OpenCL has no device here: no driver is installed (clinfo lists them)");
  }
  if (number >= found.size()) {
    return bad_argument("there is no device opencl:", number, "; OpenCL has ", found.size(),
                        " here, the last is opencl:", found.size() - 1);
  }
  const auto [platform, device] = found[number];
  RETURN_IF_ERROR(check_device(cl, device));
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(platform), 0};
  cl_int status = CL_SUCCESS;
  const cl_context context = cl.clCreateContext(properties, 1, &device, nullptr, nullptr, &status);
  if (status != CL_SUCCESS) return failed("making a context", status);
  const cl_command_queue queue = cl.clCreateCommandQueue(context, device, 0, &status);
  if (status != CL_SUCCESS) {
    cl.clReleaseContext(context);
    return failed("making a queue", status);
  }
  return std::unique_ptr<Backend>(
      std::make_unique<OpenCl>(cl, info_of(cl, device, number), context, device, queue, true));
}

Result<std::unique_ptr<Backend>> adopt_opencl(void* context, void* device, void* queue) {
  TRY(const auto cl, OpenClFunctions::load());
  if (context == nullptr || device == nullptr || queue == nullptr) {
    return bad_argument(
        "an OpenCL device needs a context, a device and a queue; one of them is "
        "null");
  }
  auto* const id = static_cast<cl_device_id>(device);
  RETURN_IF_ERROR(check_device(cl, id));
  DeviceInfo info = info_of(cl, id, 0);
  info.name = "opencl";
  return std::unique_ptr<Backend>(
      std::make_unique<OpenCl>(cl, std::move(info), static_cast<cl_context>(context), id,
                               static_cast<cl_command_queue>(queue), false));
}

}  // namespace tensorpress::device
