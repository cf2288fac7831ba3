// A variable of a NetCDF or HDF5 file as a tensor to compress, with what its stream keeps of it.
#pragma once

#include <memory>
#include <string>

#include "files/netcdf/file.h"
#include "files/rewriting/earlier_loss.h"
#include "tensorpress/streaming.h"

namespace tensorpress::cli {

struct VariableSource {
  std::unique_ptr<TensorSource> source;  // the file must outlive it
  std::string remark;                    // on what the stream cannot keep; mostly ""
};

/// Adds the variable's attributes, fill values and history to `write`, whose bound then counts from
/// the first values, as `loss` says.
Result<VariableSource> open_variable(files::NetcdfFile& file, const files::NetcdfVariable& variable,
                                     const files::EarlierLoss& loss, CompressOptions& write);

}  // namespace tensorpress::cli
