// Two HDF5 files (netCDF-4 files are such) side by side, object by object. Included only where
// HDF5's header is.
#pragma once

#include "files/rewriting/file_comparison.h"

namespace tensorpress::files {

Result<FileComparison> compare_hdf5(const std::string& original, const std::string& copy,
                                    const FileComparisonOptions& options);

}  // namespace tensorpress::files
