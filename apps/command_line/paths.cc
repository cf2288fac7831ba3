#include "paths.h"

#include <unistd.h>

#include <filesystem>

#include "base/errors.h"

namespace tensorpress::cli {

std::string default_output(const std::string& input, const std::string& extension) {
  if (is_pipe(input)) return input;
  return std::filesystem::path(input).replace_extension(extension).string();
}

Result<std::string> output_of_copy(const std::string& input, const std::string& output,
                                   const std::string& extension) {
  if (!output.empty()) return output;
  std::string path = default_output(input, extension);
  std::error_code ignored;  // what cannot be looked at is an error when it is created
  if (!is_pipe(path) && std::filesystem::exists(path, ignored)) {
    return bad_argument("'", path, "' exists and may be what '", input,
                        "' was made from; -o NAME writes elsewhere, and -o ", path, " replaces it");
  }
  return path;
}

Result<void> check_exists(const std::string& input) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(input, ignored).type();
  if (is_pipe(input) || kind != std::filesystem::file_type::not_found) return {};
  return io_error("cannot read '", input, "': No such file or directory");
}

Result<void> check_not_input(const std::vector<std::string>& inputs, const std::string& output,
                             std::string_view option) {
  if (is_pipe(output)) return {};
  for (const std::string& input : inputs) {
    std::error_code ignored;  // files that are not there are nobody's input
    if (is_pipe(input) || !std::filesystem::equivalent(input, output, ignored)) continue;
    return bad_argument("the output '", output, "' is the input; name another file with ", option);
  }
  return {};
}

Result<void> check_output(const std::string& input, const std::string& output) {
  if (is_pipe(output) && isatty(STDOUT_FILENO) == 1) {
    return bad_argument("standard output is a terminal; name a file with -o or use a pipe");
  }
  return check_not_input({input}, output);
}

}  // namespace tensorpress::cli
