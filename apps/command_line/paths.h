// Names of files on the command line: what an output is called when nobody says, and outputs that
// must not be written to. "-" is a pipe.
#pragma once

#include <string>

#include "tensorpress/result.h"

namespace tensorpress::cli {

inline bool is_pipe(const std::string& path) {
  return path == "-";
}

/// "dir/x.npy" -> "dir/x.tpz"; "-" stays "-".
std::string default_output(const std::string& input, const std::string& extension);

/// Refuses an output that is the input under any name, and binary data on a terminal.
Result<void> check_output(const std::string& input, const std::string& output);

}  // namespace tensorpress::cli
