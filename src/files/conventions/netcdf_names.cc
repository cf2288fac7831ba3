// The part of files/netcdf/file.h that needs no NetCDF library.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/errors.h"
#include "files/conventions/file_kind.h"
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

ArrayFormat array_format_of(FileKind kind) {
  if (kind == FileKind::hdf5) return ArrayFormat::hdf5;
  return kind == FileKind::netcdf_classic ? ArrayFormat::netcdf_classic : ArrayFormat::other;
}

}  // namespace

ArrayFormat array_format_of(std::span<const std::byte> beginning) {
  return array_format_of(kind_of(beginning));
}

ArrayFormat array_format_of(const std::string& path) {
  return array_format_of(kind_of(path));
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
