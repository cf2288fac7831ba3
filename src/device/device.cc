// The calls of tensorpress/device.h.
#include "tensorpress/device.h"

#include <charconv>

#include "base/errors.h"
#include "device/compression.h"
#include "device/cuda_and_hip/gpu.h"
#include "device/opencl/opencl.h"

namespace tensorpress::device {

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all = opencl_devices();
  for (const GpuInterface which : {GpuInterface::cuda, GpuInterface::hip}) {
    const auto found = gpus(which);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

Device::Device(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;
Device::~Device() = default;

Result<Device> Device::open(std::string_view name) {
  const auto colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  const bool known_kind = kind == "opencl" || kind == "cuda" || kind == "hip";
  std::size_t number = 0;
  bool known = known_kind;
  if (known && colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    known = error == std::errc() && end == digits.data() + digits.size();
  }
  if (!known) {
    return bad_argument("there is no device '", name,
                        "'; a device is opencl or opencl:N, numbered from 0 (or, untested, cuda:N "
                        "or hip:N)");
  }
  if (kind == "opencl") {
    TRY(auto backend, open_opencl(number));
    return Device(std::move(backend));
  }
  TRY(auto backend, open_gpu(kind == "cuda" ? GpuInterface::cuda : GpuInterface::hip, number));
  return Device(std::move(backend));
}

Result<Device> Device::of_opencl(void* context, void* device, void* queue) {
  TRY(auto backend, adopt_opencl(context, device, queue));
  return Device(std::move(backend));
}

const DeviceInfo& Device::info() const {
  return backend_->info();
}

Result<Buffer> Device::allocate(std::uint64_t bytes) {
  return backend_->allocate(bytes);
}
Result<void> Device::upload(std::span<const std::byte> bytes, const Memory& to) {
  return backend_->upload(bytes, to);
}
Result<void> Device::download(const Memory& from, std::span<std::byte> bytes) {
  return backend_->download(from, bytes);
}

Result<std::vector<std::byte>> Device::compress(const DeviceTensor& input, const Codec& codec,
                                                const CompressOptions& options, Work* work) {
  Work unseen;
  return device::compress(*backend_, input, codec, options, work != nullptr ? *work : unseen);
}

Result<void> Device::decompress(std::span<const std::byte> stream, const DeviceTensor& output,
                                const DecompressOptions& options, Work* work) {
  Work unseen;
  return device::decompress(*backend_, stream, output, options, work != nullptr ? *work : unseen);
}

}  // namespace tensorpress::device
