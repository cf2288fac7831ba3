// NetCDF and HDF5 files in `compress`: one variable or several to .tpz streams, or a whole file
// rewritten with our filter.
#pragma once

#include <string>
#include <vector>

#include "command_line/options/bound_options.h"
#include "command_line/options/codec_options.h"
#include "command_line/options/tensor_options.h"
#include "files/netcdf/file.h"
#include "tensorpress/streaming.h"

namespace tensorpress::cli {

/// Makes our filter known to HDF5.
Result<void> register_filter();
/// To be called before HDF5 files are read or written; does nothing for other files.
Result<void> prepare_for(const std::string& path);

/// Variables asked for by name; "*" is all data, and no name the only data there is.
Result<std::vector<const files::NetcdfVariable*>> chosen_variables(
    const files::NetcdfFile& file, const std::vector<std::string>& names);

/// A file for each variable: "run.TEMP.tpz" beside "run.nc", or in the folder `output`; `output`
/// itself for a single variable. Refuses what would be written twice.
Result<std::vector<std::string>> outputs_for(
    const std::string& input, const std::string& output,
    const std::vector<const files::NetcdfVariable*>& variables);

}  // namespace tensorpress::cli
