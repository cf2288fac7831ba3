// Makes our filter known to the HDF5 library of this process, so that files with it can be read and
// written without a plugin in HDF5's path.
#pragma once

#include "tensorpress/result.h"

namespace tensorpress::files {

/// `filter_class` is an H5Z_class2_t that lives as long as the program.
Result<void> register_hdf5_filter(const void* filter_class);

}  // namespace tensorpress::files
