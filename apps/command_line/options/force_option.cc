#include "command_line/options/force_option.h"

#include <filesystem>

#include "base/errors.h"
#include "command_line/inputs/paths.h"

namespace tensorpress::cli {

void ForceOption::declare(Arguments& arguments, const std::string& names) {
  arguments.flag(names, force_, "replace an output that exists");
}

Result<void> ForceOption::check(const std::vector<std::string>& inputs, const std::string& output,
                                std::string_view option) const {
  if (output.empty() || is_pipe(output)) return {};
  RETURN_IF_ERROR(check_not_input(inputs, output, option));
  std::error_code ignored;  // what cannot be looked at is an error when it is created
  if (force_ || !std::filesystem::is_regular_file(output, ignored)) return {};
  return bad_argument("'", output, "' exists; --force replaces it, and ", option,
                      " NAME writes elsewhere");
}

Result<void> ForceOption::check_data(const std::vector<std::string>& inputs,
                                     const std::string& output) const {
  RETURN_IF_ERROR(check_no_terminal(output));
  return check(inputs, output);
}

}  // namespace tensorpress::cli
