// Variables of a NetCDF or HDF5 file: a .tpz stream for each.
#pragma once

#include <string>

#include "command_line/reports/batch.h"
#include "compress_arguments.h"

namespace tensorpress::cli {

/// `path` is where the input is read; that of a pipe is another.
Result<FileReport> compress_variables(const CompressArguments& options, const std::string& path,
                                      Reporter& reporter);

}  // namespace tensorpress::cli
