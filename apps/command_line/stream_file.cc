#include "stream_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/errors.h"
#include "files/bytes/byte_files.h"
#include "files/netcdf/file.h"
#include "files/tensor/npy.h"
#include "paths.h"
#include "stream/container/format.h"

namespace tensorpress::cli {
namespace {

bool is_regular_file(const std::string& path) {
  std::error_code ignored;  // a pipe must not be opened to look
  return !is_pipe(path) && std::filesystem::is_regular_file(path, ignored);
}

/// As many of a file's first bytes as .npy and .npz are known by; "" of what cannot be read.
std::string first_bytes(const std::string& path) {
  const auto source = files::open_bytes(path);
  std::string begin(files::kNpyMagic.size(), '\0');
  if (!source.ok() || (*source)->size() < begin.size()) return {};
  const auto read = (*source)->read_at(0, std::as_writable_bytes(std::span(begin)));
  return read.ok() ? begin : std::string();
}

}  // namespace

Result<void> check_is_stream(const std::string& path) {
  if (!is_regular_file(path)) return {};
  const auto format = files::array_format_of(path);
  if (format != files::ArrayFormat::other) {
    const bool classic = format == files::ArrayFormat::netcdf_classic;
    return bad_argument("'", path, "' is ", classic ? "a NetCDF file" : "an HDF5 or netCDF-4 file",
                        ", not a .tpz stream; ",
                        classic ? "NetCDF tools read it directly"
                                : "HDF5 tools read it, with our plugin if it is compressed",
                        ", and tensorpress compress --var NAME makes a .tpz of a variable");
  }
  constexpr std::string_view kZip = "PK\x03\x04";
  const std::string begin = first_bytes(path);
  if (begin == files::kNpyMagic) {
    return bad_argument("'", path, "' is a .npy file, not a .tpz stream; tensorpress compress ",
                        "makes one of it");
  }
  if (begin.starts_with(kZip)) {
    return bad_argument("'", path, "' is an archive (.npz), not a .tpz stream");
  }
  return {};
}

bool is_stream_file(const std::string& path) {
  if (!is_regular_file(path)) return false;
  const auto source = files::open_bytes(path);
  std::array<std::byte, stream::kPrologueBytes> begin{};
  return source.ok() && (*source)->size() >= begin.size() && (*source)->read_at(0, begin).ok() &&
         stream::check_prologue(begin).ok();
}

bool is_npy_file(const std::string& path) {
  return is_regular_file(path) && first_bytes(path) == files::kNpyMagic;
}

Result<void> check_stream_name(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  constexpr std::array kOthers = {".npy",  ".npz", ".raw", ".bin", ".dat",
                                  ".zarr", ".png", ".csv", ".txt"};
  if (std::ranges::find(kOthers, extension) == kOthers.end() && !files::is_array_file_name(path)) {
    return {};
  }
  return bad_argument("'", path, "' would hold a .tpz stream, which is no ", extension,
                      " file; name it .tpz");
}

}  // namespace tensorpress::cli
