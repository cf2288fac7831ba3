// Compiled instead of the other netcdf files where NetCDF's header was not found.
#include "base/errors.h"
#include "files/netcdf/file.h"
#include "files/rewriting/file_comparison.h"
#include "files/rewriting/rewrite.h"

namespace tensorpress::files {
namespace {

Error absent() {
  return unsupported(
      "this program was built without NetCDF, which NetCDF and HDF5 files need: "
      "apt-get install libnetcdf-dev libhdf5-dev, then build again");
}

}  // namespace

Result<std::unique_ptr<NetcdfFile>> NetcdfFile::open(const std::string& /*path*/) {
  return absent();
}

Result<std::unique_ptr<stream::TensorSource>> open_netcdf_tensor(const std::string& /*path*/,
                                                                 const std::string& /*variable*/) {
  return absent();
}

Result<std::unique_ptr<TensorFile>> create_netcdf_tensor(
    const std::string& /*path*/, DType /*dtype*/, const Shape& /*shape*/,
    const std::optional<NetcdfNotes>& /*notes*/, std::optional<double> /*error*/,
    const stream::History& /*history*/, const std::string& /*made_from*/) {
  return absent();
}

Result<RewriteReport> rewrite_file(const std::string& /*input*/, const std::string& /*output*/,
                                   const RewriteOptions& /*options*/) {
  return absent();
}

Result<RewriteReport> restore_file(const std::string& /*input*/, const std::string& /*output*/,
                                   const RestoreOptions& /*options*/) {
  return absent();
}

Result<FileComparison> compare_files(const std::string& /*original*/, const std::string& /*copy*/,
                                     const FileComparisonOptions& /*options*/) {
  return absent();
}

}  // namespace tensorpress::files
