// Compression where the data are: tensors in the memory of a GPU or another accelerator. The
// streams are those of the host, byte for byte, so any CPU reads what a device wrote.
//
//   auto device = device::Device::open("opencl");
//   auto packed = device->compress({memory, DType::f32, {512, 512, 512}}, codec, options);
//
// Devices are found through OpenCL's loader, which is opened when the first of them is asked for;
// nothing is linked. NVIDIA's and AMD's own interfaces ("cuda", "hip") are experimental: they have
// been compiled, but never run. A device is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorpress/api.h"
#include "tensorpress/codec.h"
#include "tensorpress/result.h"
#include "tensorpress/stream.h"

namespace tensorpress::device {

class Backend;

struct DeviceInfo {
  std::string name;         // "opencl:0", as open() takes it
  std::string description;  // what its driver calls it
  std::uint64_t memory_bytes = 0;
};

/// What can be opened. Nothing where there is no loader or no device.
TENSORPRESS_API std::vector<DeviceInfo> devices();

/// Memory on a device: a cl_mem of OpenCL or an address of CUDA or HIP, and where in it.
struct Memory {
  void* handle = nullptr;
  std::uint64_t offset = 0;  // in bytes
};

/// Elements in C order without gaps. The offset is a multiple of an element's size.
struct DeviceTensor {
  Memory memory;
  DType dtype = DType::f32;
  Shape shape = {};

  std::uint64_t byte_count() const { return shape.element_count() * size_of(dtype); }
};

/// Who did the work of a call. What a device cannot do is done by the host with the same result:
/// chunks with NaN, infinities or fill values, types and codecs without kernels.
struct Work {
  std::uint64_t device_chunks = 0;
  std::uint64_t host_chunks = 0;
};

/// Memory that a device gave us. Freed with its last copy.
class TENSORPRESS_API Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<void> memory, std::uint64_t bytes)
      : memory_(std::move(memory)), bytes_(bytes) {}
  Memory memory() const { return {memory_.get(), 0}; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<void> memory_;
  std::uint64_t bytes_ = 0;
};

class TENSORPRESS_API Device {
 public:
  /// "opencl:1", or "opencl" for the first; "cuda:N" and "hip:N" likewise. The error says what
  /// there is.
  static Result<Device> open(std::string_view name);
  /// The caller's cl_context, cl_device_id and in-order cl_command_queue, which stay the caller's
  /// and must outlive the device.
  static Result<Device> of_opencl(void* context, void* device, void* queue);
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;
  ~Device();

  const DeviceInfo& info() const;

  Result<Buffer> allocate(std::uint64_t bytes);
  Result<void> upload(std::span<const std::byte> bytes, const Memory& to);
  Result<void> download(const Memory& from, std::span<std::byte> bytes);

  /// A complete stream, in the host's memory.
  Result<std::vector<std::byte>> compress(const DeviceTensor& input, const Codec& codec,
                                          const CompressOptions& options = {},
                                          Work* work = nullptr);
  /// `output` has the stream's shape and type. After an error it holds no data of use.
  Result<void> decompress(std::span<const std::byte> stream, const DeviceTensor& output,
                          const DecompressOptions& options = {}, Work* work = nullptr);

 private:
  explicit Device(std::unique_ptr<Backend> backend);
  std::unique_ptr<Backend> backend_;
};

}  // namespace tensorpress::device
