// What `info` says about a .tpz stream or a .npy file.
#pragma once

#include <string>

#include "command_line/reports/report_fields.h"

namespace tensorpress::cli {

struct TensorDescription {
  ReportFields fields;
  // Of a stream; a .npy file, which is not compressed, has none.
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

/// "-" is a stream on standard input.
Result<TensorDescription> describe_tensor(const std::string& path);

}  // namespace tensorpress::cli
