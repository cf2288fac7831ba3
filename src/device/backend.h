// What all kinds of devices do for us: memory, copies, kernels. One implementation a programming
// interface (opencl/). Work is done in the order in which it was asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <variant>

#include "tensorpress/device.h"
#include "tensorpress/result.h"

namespace tensorpress::device {

/// What a kernel is called with. Memory is passed as its handle; an offset is a number of its own.
using Argument = std::variant<void*, std::uint32_t, std::uint64_t, float>;

class Backend {
 public:
  /// Threads of a group, in every kernel.
  static constexpr std::size_t kGroupThreads = 256;

  virtual ~Backend() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Whether kernels can compute in double.
  virtual bool has_doubles() const = 0;

  /// At least one byte.
  virtual Result<Buffer> allocate(std::uint64_t bytes) = 0;
  virtual Result<void> upload(std::span<const std::byte> bytes, const Memory& to) = 0;
  /// Waits for everything before it.
  virtual Result<void> download(const Memory& from, std::span<std::byte> bytes) = 0;
  /// Waits for everything before it.
  virtual Result<void> finish() = 0;
  virtual Result<void> clear(const Memory& memory, std::uint64_t bytes) = 0;
  /// `source` names a file of kernels/, without its ending. No groups, no work.
  virtual Result<void> launch(std::string_view source, const char* kernel, std::uint64_t groups,
                              std::initializer_list<Argument> arguments) = 0;

  template <class Values>
  Result<void> upload_all(const Values& values, const Buffer& to) {
    return upload(std::as_bytes(std::span(values)), to.memory());
  }
};

}  // namespace tensorpress::device
