// Where hdf5plugin, the Python package that carries HDF5 filters of many compressors, keeps them.
#pragma once

#include <string>

namespace tensorpress::benchmark {

/// `given` if it is not empty, else the environment's HDF5_PLUGIN_PATH, else what the first Python
/// with hdf5plugin says: that of the active virtual environment, that of `.venv` in the tree this
/// program was built in, python3. "" when it is not known.
std::string find_plugin_path(const std::string& given);

}  // namespace tensorpress::benchmark
