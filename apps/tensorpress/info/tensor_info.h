// What `info` says about a .tpz stream or a .npy file.
#pragma once

#include <string>

#include "command_line/reports/json_output.h"

namespace tensorpress::cli {

/// "-" is a stream on standard input.
Result<Json> describe_tensor(const std::string& path);

}  // namespace tensorpress::cli
