// What `info` says about a NetCDF or HDF5 file: its variables.
#pragma once

#include <string>

#include "command_line/reports/batch.h"
#include "tensorpress/result.h"

namespace tensorpress::cli {

Result<FileReport> list_variables(const std::string& path);

}  // namespace tensorpress::cli
