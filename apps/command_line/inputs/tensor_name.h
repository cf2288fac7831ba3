// Names of files that tensors are decompressed to, and what their extensions stand for.
#pragma once

#include <string>

#include "tensorpress/dtype.h"
#include "tensorpress/result.h"

namespace tensorpress::cli {

enum class TensorFormat { npy, raw, array };  // array: NetCDF or HDF5

/// From the name of an output; "-" is .npy, and pipes and devices take raw numbers. With `raw`,
/// every name stands for raw numbers. An error for names that say nothing or something else, which
/// lists those that do.
Result<TensorFormat> format_of_output(const std::string& path, bool raw);

/// Refuses x.f64 for a tensor of f32.
Result<void> check_type_in_name(const std::string& path, DType dtype);

}  // namespace tensorpress::cli
