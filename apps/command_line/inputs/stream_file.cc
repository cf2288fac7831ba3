#include "command_line/inputs/stream_file.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "files/conventions/file_kind.h"
#include "files/netcdf/file.h"

namespace tensorpress::cli {

using files::FileKind;

Result<void> check_is_stream(const std::string& path) {
  const FileKind kind = files::kind_of(path);
  switch (kind) {
    case FileKind::netcdf_classic:
    case FileKind::hdf5: {
      const bool classic = kind == FileKind::netcdf_classic;
      return bad_argument("'", path, "' is ",
                          classic ? "a NetCDF file" : "an HDF5 or netCDF-4 file",
                          ", not a .tpz stream; ",
                          classic ? "NetCDF tools read it directly"
                                  : "HDF5 tools read it, with our plugin if it is compressed",
                          ", and tensorpress compress --var NAME makes a .tpz of a variable");
    }
    case FileKind::npy:
      return bad_argument("'", path, "' is a .npy file, not a .tpz stream; tensorpress compress ",
                          "makes one of it");
    case FileKind::archive:
      return bad_argument("'", path, "' is an archive (.npz), not a .tpz stream");
    case FileKind::stream:
    case FileKind::other:
      break;
  }
  return {};
}

bool is_stream_file(const std::string& path) {
  return files::kind_of(path) == FileKind::stream;
}

bool is_npy_file(const std::string& path) {
  return files::kind_of(path) == FileKind::npy;
}

Result<void> check_stream_name(const std::string& path) {
  const std::string extension = files::extension_of(path);
  constexpr std::array kOthers = {".npy",  ".npz", ".raw", ".bin", ".dat",
                                  ".zarr", ".png", ".csv", ".txt"};
  if (std::ranges::find(kOthers, extension) == kOthers.end() && !files::is_array_file_name(path)) {
    return {};
  }
  return bad_argument("'", path, "' would hold a .tpz stream, which is no ", extension,
                      " file; name it .tpz");
}

}  // namespace tensorpress::cli
