// HDF5 files through HDF5's own library: what NetCDF's does not answer, and files that it does not
// open or describe (types of their own, external links, scales of other lengths, ...).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "files/netcdf/file.h"
#include "tensorpress/result.h"

namespace tensorpress::files {

/// What a dataset takes in its file; 0 when it is not found under this path.
Result<std::uint64_t> hdf5_stored_bytes(const std::string& file, const std::string& dataset);

/// Refuses groups that hard links lead to without an end: nested too deep, or one inside of itself.
Result<void> check_hdf5_groups(const std::string& path);
/// Refuses what NetCDF's library (4.9.0) crashes on: such groups by links of any kind, and fill
/// values of strings with a fixed length, which it takes for pointers.
Result<void> check_for_netcdf(const std::string& path);

/// Variables have no named dimensions here, and packed numbers are whole numbers. Notes have no
/// coordinates.
Result<std::unique_ptr<NetcdfFile>> open_hdf5_file(const std::string& path);

}  // namespace tensorpress::files
