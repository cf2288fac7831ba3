// Wrong arguments, told in our words instead of the parser's: which option, what it was given and
// what it takes.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace tensorpress::cli {

/// Makes every option of the verb and of its verbs refuse empty values (which "$UNSET" in a script
/// gives), words that are no numbers, and numbers that the type would wrap or round to infinity.
void check_values(CLI::App& verb);

/// What is wrong, as a sentence.
std::string sentence_of(const CLI::ParseError& error, const CLI::App& program);

/// "wafer run": the verbs that were given.
std::string verbs_given(const CLI::App& program);

}  // namespace tensorpress::cli
