// Devices by their names on the command line.
#pragma once

#include <string>
#include <vector>

#include "devices/description/device.h"

namespace tensorpress::cli {

/// "ipu" is a builtin device; what ends in .toml or has a slash is a file.
Result<devices::Device> open_device(const std::string& name);
/// Each of the names; "all" is every builtin one.
Result<std::vector<devices::Device>> open_devices(const std::vector<std::string>& names);

}  // namespace tensorpress::cli
