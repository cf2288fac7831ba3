// Where hdf5plugin, the Python package that carries HDF5 filters of many compressors, keeps them.
#pragma once

#include <string>

namespace tensorpress::benchmark {

/// `given` if it is not empty, else the environment's HDF5_PLUGIN_PATH, else what the first of
/// pythons() with hdf5plugin says. "" when it is not known.
std::string find_plugin_path(const std::string& given);

}  // namespace tensorpress::benchmark
