#include "command_line/inputs/stream_names.h"

#include <algorithm>
#include <filesystem>

#include "base/errors.h"
#include "files/netcdf/file.h"

namespace tensorpress::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExtension = ".tpz";

/// Those of a directory whose names begin so; none if it cannot be listed.
std::vector<std::string> streams_beginning(const std::string& begin, const std::string& directory) {
  std::vector<std::string> streams;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(begin) && name.ends_with(kExtension)) {
      streams.push_back(entry->path().string());
    }
  }
  std::ranges::sort(streams);
  return streams;
}

}  // namespace

std::string stream_extension(std::string variable) {
  std::ranges::replace(variable, '/', '.');
  return text(variable.empty() ? "" : ".", variable, kExtension);
}

Result<std::vector<std::string>> streams_made_of(const std::string& original,
                                                 const std::string& directory,
                                                 const std::string& variable) {
  const std::string stem = fs::path(original).stem().string();
  const std::string whole = (fs::path(directory) / (stem + kExtension)).string();
  std::error_code ignored;
  if (fs::exists(whole, ignored)) return std::vector{whole};
  if (files::array_format_of(original) != files::ArrayFormat::other) {
    auto streams = streams_beginning(
        text(stem, variable.empty() ? "." : stream_extension(variable)), directory);
    if (!streams.empty()) return streams;
  }
  return io_error("there is no '", whole, "' to compare '", original, "' with");
}

}  // namespace tensorpress::cli
