#include "device_files.h"

#include "base/errors.h"
#include "files/byte_files.h"

namespace tensorpress::cli {

Result<std::string> read_text(const std::string& path, std::uint64_t most) {
  TRY(const auto source, files::open_bytes(path));
  if (source->size() > most) {
    return too_large(path, " has ", source->size(), " bytes; at most ", most, " make sense here");
  }
  std::string content(source->size(), '\0');
  RETURN_IF_ERROR(source->read_at(0, std::as_writable_bytes(std::span(content))));
  return content;
}

Result<void> write_text(const std::string& path, std::string_view content) {
  TRY(const auto file, files::AtomicFile::create(path));
  RETURN_IF_ERROR(file->append(std::as_bytes(std::span(content))));
  return file->finish();
}

Result<devices::Device> open_device(const std::string& name) {
  if (!name.ends_with(".toml") && name.find('/') == std::string::npos) {
    return devices::builtin_device(name);
  }
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  TRY(const std::string content, read_text(name, kMost));
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
