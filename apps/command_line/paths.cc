#include "paths.h"

#include <unistd.h>

#include <filesystem>

#include "base/errors.h"

namespace tensorpress::cli {

std::string default_output(const std::string& input, const std::string& extension) {
  if (is_pipe(input)) return input;
  return std::filesystem::path(input).replace_extension(extension).string();
}

Result<void> check_output(const std::string& input, const std::string& output) {
  if (is_pipe(output)) {
    if (isatty(STDOUT_FILENO) == 1) {
      return bad_argument("standard output is a terminal; name a file with -o or use a pipe");
    }
    return {};
  }
  std::error_code ignored;  // files that are not there are nobody's input
  if (!is_pipe(input) && std::filesystem::equivalent(input, output, ignored)) {
    return bad_argument("the output '", output, "' is the input; name another file with -o");
  }
  return {};
}

}  // namespace tensorpress::cli
