// Devices and small texts by their names on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "devices/device.h"

namespace tensorpress::cli {

/// A whole text file of at most `most` bytes.
Result<std::string> read_text(const std::string& path, std::uint64_t most);
/// Appears whole or not at all.
Result<void> write_text(const std::string& path, std::string_view text);

/// "ipu" is a builtin device; what ends in .toml or has a slash is a file.
Result<devices::Device> open_device(const std::string& name);
/// Each of the names; "all" is every builtin one.
Result<std::vector<devices::Device>> open_devices(const std::vector<std::string>& names);

}  // namespace tensorpress::cli
