#include "device_files.h"

#include "base/errors.h"
#include "files/bytes/text_files.h"

namespace tensorpress::cli {

Result<devices::Device> open_device(const std::string& name) {
  if (!name.ends_with(".toml") && name.find('/') == std::string::npos) {
    return devices::builtin_device(name);
  }
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  TRY(const std::string content, files::read_text(name, kMost, "a device"));
  return devices::parse_device(content, name);
}

Result<std::vector<devices::Device>> open_devices(const std::vector<std::string>& names) {
  std::vector<devices::Device> all;
  for (const std::string& name : names) {
    if (name != "all") {
      TRY(devices::Device device, open_device(name));
      all.push_back(std::move(device));
      continue;
    }
    for (const std::string& each : devices::builtin_names()) {
      TRY(devices::Device device, devices::builtin_device(each));
      all.push_back(std::move(device));
    }
  }
  return all;
}

}  // namespace tensorpress::cli
