// Fields for tests of devices, and the first device that there is.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tensorpress/device.h"

namespace tensorpress::device {

/// Tests skip where no device can be opened; ./dev test installs one that runs on the CPU.
class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (devices().empty()) GTEST_SKIP() << "there is no OpenCL device";
    auto opened = Device::open("opencl");
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    device_ = std::make_unique<Device>(std::move(opened).value());
  }

  Device& device() { return *device_; }

  /// Elements in memory of the device, behind `gap` others.
  DeviceTensor on_device(const TensorView& view, std::uint64_t gap = 0) {
    const std::uint64_t before = gap * size_of(view.dtype);
    auto buffer = device().allocate(before + view.byte_count() + 4);
    EXPECT_TRUE(buffer.ok());
    buffers_.push_back(buffer.value());
    const Memory memory{buffers_.back().memory().handle, before};
    EXPECT_TRUE(
        device().upload({view.data, static_cast<std::size_t>(view.byte_count())}, memory).ok());
    return {memory, view.dtype, view.shape};
  }

  std::vector<std::byte> from_device(const DeviceTensor& tensor) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.byte_count()));
    EXPECT_TRUE(device().download(tensor.memory, bytes).ok());
    return bytes;
  }

 private:
  std::unique_ptr<Device> device_;
  std::vector<Buffer> buffers_;
};

inline std::vector<float> waves(std::size_t count, float size = 1) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<float>(i);
    values[i] = size * (std::sin(x * 0.01f) + 0.1f * std::sin(x * 0.37f));
  }
  return values;
}

/// Any bits that are numbers: every magnitude, subnormals, both zeros.
inline std::vector<float> any_numbers(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    do {
      value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    } while (!std::isfinite(value));
  }
  return values;
}

}  // namespace tensorpress::device
