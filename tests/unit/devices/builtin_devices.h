// The shipped devices by name, for tests.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "devices/description/device.h"

namespace tensorpress::devices {

inline Device device_named(const char* name) {
  auto device = builtin_device(name);
  EXPECT_TRUE(device.ok()) << name;
  return std::move(device).value();
}

}  // namespace tensorpress::devices
