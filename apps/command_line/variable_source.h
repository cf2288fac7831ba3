// A variable of a NetCDF or HDF5 file as a tensor to compress, with what its stream keeps of it.
#pragma once

#include <memory>
#include <string>

#include "files/netcdf/file.h"
#include "files/rewriting/earlier_loss.h"
#include "stream/writer.h"

namespace tensorpress::cli {

struct VariableSource {
  std::unique_ptr<stream::TensorSource> source;  // the file must outlive it
  std::string remark;                            // on what the stream cannot keep; mostly ""
};

/// Adds the variable's attributes, fill values and history to `write`, whose bound then counts from
/// the first values, as `loss` says.
Result<VariableSource> open_variable(files::NetcdfFile& file, const files::NetcdfVariable& variable,
                                     const files::EarlierLoss& loss, stream::WriteOptions& write);

}  // namespace tensorpress::cli
