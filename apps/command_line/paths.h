// Names of files on the command line: what an output is called when nobody says, and outputs that
// must not be written to. "-" is a pipe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::cli {

inline bool is_pipe(const std::string& path) {
  return path == "-";
}

/// "dir/x.npy" -> "dir/x.tpz"; "-" stays "-".
std::string default_output(const std::string& input, const std::string& extension);

/// Where a decompressed copy goes: to `output`, or when that is empty to the default, which may be
/// the original and is therefore never replaced.
Result<std::string> output_of_copy(const std::string& input, const std::string& output,
                                   const std::string& extension);

/// "No such file or directory", before anybody guesses what kind of file the name stands for.
Result<void> check_exists(const std::string& input);

/// Refuses an output that is one of the inputs under any name. `option` is how the output is named;
/// words among the inputs that are no files do no harm.
Result<void> check_not_input(const std::vector<std::string>& inputs, const std::string& output,
                             std::string_view option = "-o");

/// For tensors and streams: the same, and no binary data on a terminal.
Result<void> check_output(const std::string& input, const std::string& output);

}  // namespace tensorpress::cli
