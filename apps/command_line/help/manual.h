// What a program says about itself in other forms than --help, made from the same declarations: a
// manual page, and completion for bash. Neither can say anything that --help does not.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tensorpress::cli {

/// troff for `man`, section 1. `version` stands in its foot.
std::string man_page(const CLI::App& program, const std::string& version);

/// A script that bash-completion loads: verbs, their options, choices such as fast|best, else
/// files.
std::string bash_completion(const CLI::App& program);

}  // namespace tensorpress::cli
