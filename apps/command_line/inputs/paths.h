// Names of files on the command line: what an output is called by default, and outputs that
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

/// Whether an output is a directory: it is one, or its name ends in '/'.
bool names_directory(const std::string& path);
/// Makes a directory that does not exist yet; only the last part of its name may be new.
Result<void> make_directory(const std::string& path);

/// Where what is made of each input goes: `output` for one input, a file of the input's name and
/// this extension in the directory `output`, or beside the input if `output` is empty. Refuses,
/// before anything is written: one file for several inputs, two inputs with one output, and pipes
/// and directories among several.
Result<std::vector<std::string>> outputs_of(const std::vector<std::string>& inputs,
                                            const std::string& output,
                                            const std::string& extension);

/// Refuses a pipe or a directory among several inputs.
Result<void> check_several(const std::vector<std::string>& inputs);

/// "No such file or directory", before other code guesses the kind of file from its name.
Result<void> check_exists(const std::string& input);

/// Refuses an output that is one of the inputs under any name. `option` is how the output is named;
/// words among the inputs that are no files do no harm.
Result<void> check_not_input(const std::vector<std::string>& inputs, const std::string& output,
                             std::string_view option = "-o");

/// No binary data on a terminal.
Result<void> check_no_terminal(const std::string& output);

}  // namespace tensorpress::cli
