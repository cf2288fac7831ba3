// Files on the command line that should be .tpz streams, and the names of those that will be.
#pragma once

#include <string>

#include "tensorpress/result.h"

namespace tensorpress::cli {

/// Refuses what is plainly something else (.npy, .npz, NetCDF, HDF5) and says what to do with it.
/// Damaged streams and pipes pass: reading them gives a better message.
Result<void> check_is_stream(const std::string& path);

/// Whether it begins as a .tpz stream does; false for pipes.
bool is_stream_file(const std::string& path);
/// Whether it begins as a .npy file does; false for pipes.
bool is_npy_file(const std::string& path);

/// Refuses names of other formats for a stream: .npy, .npz, .raw, and those of NetCDF and HDF5.
Result<void> check_stream_name(const std::string& path);

}  // namespace tensorpress::cli
