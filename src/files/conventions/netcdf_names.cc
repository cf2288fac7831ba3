// The part of files/netcdf/file.h that needs no NetCDF library.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/errors.h"
#include "files/bytes/byte_files.h"
#include "files/netcdf/file.h"

namespace tensorpress::files {
namespace {

/// `ending` is in small letters.
bool ends_in(std::string_view path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  return std::ranges::equal(path.substr(path.size() - ending.size()), ending, {}, [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
}

}  // namespace

ArrayFormat array_format_of(std::span<const std::byte> beginning) {
  constexpr std::array kHdf5 = {'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  if (beginning.size() < kHdf5.size()) return ArrayFormat::other;
  if (std::memcmp(beginning.data(), kHdf5.data(), kHdf5.size()) == 0) return ArrayFormat::hdf5;
  const auto version = static_cast<int>(beginning[3]);
  const bool classic = std::memcmp(beginning.data(), "CDF", 3) == 0 &&
                       (version == 1 || version == 2 || version == 5);
  return classic ? ArrayFormat::netcdf_classic : ArrayFormat::other;
}

ArrayFormat array_format_of(const std::string& path) {
  // A pipe must not be opened to look: its writer would find it closed.
  std::error_code ignored;
  if (path == "-" || !std::filesystem::is_regular_file(path, ignored)) return ArrayFormat::other;
  const auto file = open_bytes(path);
  if (!file.ok()) return ArrayFormat::other;
  std::array<std::byte, 8> begin{};
  // HDF5 may begin behind a block of the user's own, at 512, 1024, 2048, ... bytes.
  constexpr std::uint64_t kLastPlace = 1 << 20;
  for (std::uint64_t at = 0; at <= kLastPlace; at = at == 0 ? 512 : at * 2) {
    if (at + begin.size() > (*file)->size()) break;
    if (!(*file)->read_at(at, begin).ok()) break;
    const ArrayFormat format = array_format_of(begin);
    if (format == ArrayFormat::hdf5 || (at == 0 && format != ArrayFormat::other)) return format;
  }
  return ArrayFormat::other;
}

bool is_array_file_name(const std::string& path) {
  constexpr std::array kEndings = {".nc", ".nc4", ".cdf", ".h5", ".hdf5"};
  return std::ranges::any_of(kEndings, [&](const char* ending) { return ends_in(path, ending); });
}

bool is_hdf5_file_name(const std::string& path) {
  return ends_in(path, ".h5") || ends_in(path, ".hdf5");
}

bool is_classic_file_name(const std::string& path) {
  return ends_in(path, ".cdf");
}

Result<const NetcdfVariable*> NetcdfFile::find(const std::string& name) const {
  const std::string bare = name.starts_with('/') ? name.substr(1) : name;
  std::string listed;
  for (const NetcdfVariable& variable : variables()) {
    if (variable.path == bare) return &variable;
    if (variable.refusal.empty() && !variable.coordinate) {
      listed += text(listed.empty() ? "" : ", ", variable.path);
    }
  }
  if (listed.empty()) return bad_argument("there is no variable '", name, "' and no other data");
  return bad_argument("there is no variable '", name, "'; there are: ", listed);
}

}  // namespace tensorpress::files
