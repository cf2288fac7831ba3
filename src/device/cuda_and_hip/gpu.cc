#include "device/cuda_and_hip/gpu.h"

#include <array>
#include <map>
#include <string>

#include "base/errors.h"
#include "device/kernel_text.h"

namespace tensorpress::device {
namespace {

// Of CUDA: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;
constexpr int kOutOfMemory = 2;  // of both

class Gpu final : public Backend {
 public:
  Gpu(const GpuFunctions& gpu, GpuInterface which, int device, void* context, DeviceInfo info)
      : gpu_(gpu), which_(which), device_(device), context_(context), info_(std::move(info)) {}
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu() override {
    if (activate().ok()) {
      (void)gpu_.synchronize();
      for (const auto& [name, module] : modules_) (void)gpu_.unload_module(module);
    }
    if (which_ == GpuInterface::cuda) (void)gpu_.release_context(device_);
  }

  const DeviceInfo& info() const override { return info_; }
  bool has_doubles() const override { return true; }

  /// Freed with the device's context, at the latest.
  Result<Buffer> allocate(std::uint64_t bytes) override {
    RETURN_IF_ERROR(activate());
    void* memory = nullptr;
    const int status = gpu_.allocate(&memory, static_cast<std::size_t>(bytes == 0 ? 4 : bytes));
    RETURN_IF_ERROR(check(text("allocating ", human_bytes(bytes)), status));
    return Buffer(std::shared_ptr<void>(memory, gpu_.free), bytes);
  }

  Result<void> upload(std::span<const std::byte> bytes, const Memory& to) override {
    if (bytes.empty()) return {};
    RETURN_IF_ERROR(activate());
    return check(
        "copying to the device",
        gpu_.to_device(static_cast<std::byte*>(to.handle) + to.offset, bytes.data(), bytes.size()));
  }

  Result<void> download(const Memory& from, std::span<std::byte> bytes) override {
    if (bytes.empty()) return {};
    RETURN_IF_ERROR(activate());
    return check(
        "copying from the device",
        gpu_.from_device(bytes.data(), static_cast<const std::byte*>(from.handle) + from.offset,
                         bytes.size()));
  }

  Result<void> finish() override {
    RETURN_IF_ERROR(activate());
    return check("waiting for the device", gpu_.synchronize());
  }

  Result<void> clear(const Memory& memory, std::uint64_t bytes) override {
    if (bytes == 0) return {};
    RETURN_IF_ERROR(activate());
    return check("clearing memory",
                 gpu_.fill(static_cast<std::byte*>(memory.handle) + memory.offset, 0,
                           static_cast<std::size_t>(bytes)));
  }

  Result<void> launch(std::string_view source, const char* kernel, std::uint64_t groups,
                      std::initializer_list<Argument> arguments) override {
    if (groups == 0) return {};
    RETURN_IF_ERROR(activate());
    TRY(void* const module, module_of(source));
    void* function = nullptr;
    RETURN_IF_ERROR(check(text("kernel ", kernel), gpu_.function(&function, module, kernel)));
    std::vector<Argument> values(arguments);
    std::vector<void*> places;
    for (Argument& value : values) {
      places.push_back(std::visit([](auto& own) { return static_cast<void*>(&own); }, value));
    }
    return check(text("kernel ", kernel), gpu_.launch(function, static_cast<unsigned>(groups), 1, 1,
                                                      static_cast<unsigned>(kGroupThreads), 1, 1, 0,
                                                      nullptr, places.data(), nullptr));
  }

 private:
  Result<void> check(std::string_view what, int status) const {
    if (status == 0) return {};
    Error error =
        io_error(name_of(which_), ": ", what, ": ",
                 status == kOutOfMemory ? "the device has not enough memory" : "the driver refused",
                 " (status ", status, ")");
    if (status == kOutOfMemory) error.code = ErrorCode::too_large;
    return error;
  }

  // Of the calling thread.
  Result<void> activate() const {
    return check("choosing the device", which_ == GpuInterface::cuda ? gpu_.set_context(context_)
                                                                     : gpu_.set_device(device_));
  }

  Result<void*> module_of(std::string_view source) {
    if (const auto known = modules_.find(source); known != modules_.end()) return known->second;
    std::string architecture;
    if (which_ == GpuInterface::cuda) {
      int major = 0, minor = 0;
      RETURN_IF_ERROR(check("its generation", gpu_.attribute(&major, kCapabilityMajor, device_)));
      RETURN_IF_ERROR(check("its generation", gpu_.attribute(&minor, kCapabilityMinor, device_)));
      architecture = text("compute_", major, minor);
    }
    TRY(const std::string code, compile_kernels(gpu_, which_, kernel_text(source), architecture));
    void* module = nullptr;
    RETURN_IF_ERROR(check("loading kernels", gpu_.load_module(&module, code.data())));
    modules_.emplace(std::string(source), module);
    return module;
  }

  GpuFunctions gpu_;
  GpuInterface which_;
  int device_;
  void* context_;
  DeviceInfo info_;
  std::map<std::string, void*, std::less<>> modules_;
};

DeviceInfo info_of(const GpuFunctions& gpu, GpuInterface which, int device) {
  std::array<char, 256> name{};
  std::size_t bytes = 0;
  (void)gpu.device_name(name.data(), static_cast<int>(name.size()) - 1, device);
  (void)gpu.total_memory(&bytes, device);
  return {.name = text(name_of(which), ":", device),
          .description = text(name.data(), " (experimental: never tested)"),
          .memory_bytes = bytes};
}

int count_of(const GpuFunctions& gpu) {
  int count = 0;
  if (gpu.init(0) != 0 || gpu.device_count(&count) != 0) return 0;
  return count;
}

}  // namespace

std::vector<DeviceInfo> gpus(GpuInterface which) {
  const auto gpu = GpuFunctions::load(which);
  if (!gpu.ok()) return {};
  std::vector<DeviceInfo> infos;
  for (int i = 0; i < count_of(*gpu); ++i) infos.push_back(info_of(*gpu, which, i));
  return infos;
}

Result<std::unique_ptr<Backend>> open_gpu(GpuInterface which, std::size_t number) {
  TRY(const auto gpu, GpuFunctions::load(which));
  const auto count = static_cast<std::size_t>(count_of(gpu));
  if (number >= count) {
    return bad_argument("there is no device ", name_of(which), ":", number, "; the driver has ",
                        count);
  }
  const int device = static_cast<int>(number);
  void* context = nullptr;
  if (which == GpuInterface::cuda && gpu.retain_context(&context, device) != 0) {
    return io_error("cuda: device ", number, " gives no context");
  }
  return std::unique_ptr<Backend>(
      std::make_unique<Gpu>(gpu, which, device, context, info_of(gpu, which, device)));
}

}  // namespace tensorpress::device
