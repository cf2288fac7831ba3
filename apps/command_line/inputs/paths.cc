#include "command_line/inputs/paths.h"

#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/errors.h"

namespace tensorpress::cli {

std::string default_output(const std::string& input, const std::string& extension) {
  if (is_pipe(input)) return input;
  return std::filesystem::path(input).replace_extension(extension).string();
}

bool names_directory(const std::string& path) {
  std::error_code ignored;
  return path.ends_with('/') || std::filesystem::is_directory(path, ignored);
}

Result<void> make_directory(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return {};
  const std::string name = path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
  if (!std::filesystem::create_directory(name, error) && error) {
    return io_error("cannot make the directory '", path, "': ", error.message());
  }
  return {};
}

Result<void> check_several(const std::vector<std::string>& inputs) {
  if (inputs.size() < 2) return {};
  for (const std::string& input : inputs) {
    if (is_pipe(input)) {
      return bad_argument("'-' is standard input, which cannot be one of several files; give it ",
                          "a command of its own");
    }
    std::error_code ignored;
    if (std::filesystem::is_directory(input, ignored)) {
      const std::string inside = input.ends_with('/') ? text(input, "*") : text(input, "/*");
      return bad_argument("'", input,
                          "' is a directory, not a file; name the files in it: ", inside);
    }
  }
  return {};
}

Result<std::vector<std::string>> outputs_of(const std::vector<std::string>& inputs,
                                            const std::string& output,
                                            const std::string& extension) {
  RETURN_IF_ERROR(check_several(inputs));
  const bool directory = !output.empty() && names_directory(output);
  if (inputs.size() > 1 && !output.empty() && !directory) {
    return bad_argument("several inputs need an output directory: -o DIR/ instead of -o ", output);
  }
  std::vector<std::string> outputs;
  std::map<std::string, std::string> made_from;  // inputs by the names of their outputs
  for (const std::string& input : inputs) {
    std::string name = default_output(input, extension);
    if (directory && !is_pipe(input)) {
      name = (std::filesystem::path(output) / std::filesystem::path(name).filename()).string();
    } else if (!output.empty()) {
      name = output;
    }
    const auto [other, is_new] =
        made_from.emplace(std::filesystem::path(name).lexically_normal().string(), input);
    if (!is_new) {
      return bad_argument("'", other->second, "' and '", input, "' would both become '", name,
                          "'; give one of them a command of its own with another -o");
    }
    outputs.push_back(std::move(name));
  }
  return outputs;
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
    std::error_code ignored;  // a file that does not exist is not the output
    if (is_pipe(input) || !std::filesystem::equivalent(input, output, ignored)) continue;
    return bad_argument("the output '", output, "' is the input; name another file with ", option);
  }
  return {};
}

Result<void> check_no_terminal(const std::string& output) {
  if (is_pipe(output) && isatty(STDOUT_FILENO) == 1) {
    return bad_argument("standard output is a terminal; name a file with -o or use a pipe");
  }
  return {};
}

}  // namespace tensorpress::cli
