// Questions to HDF5 that NetCDF's library does not answer.
#pragma once

#include <cstdint>
#include <string>

#include "tensorpress/result.h"

namespace tensorpress::files {

/// What a dataset takes in its file; 0 when it is not found under this path.
Result<std::uint64_t> hdf5_stored_bytes(const std::string& file, const std::string& dataset);

}  // namespace tensorpress::files
