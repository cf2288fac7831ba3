// Wrong arguments, told in our words instead of the parser's: which option, what it was given and
// what it takes.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "command_line/verb.h"

namespace tensorpress::cli {

/// CLI11's name for the type of an option that takes a number or NAME=NUMBER.
inline constexpr std::string_view kNumberOrNamed = "FLOAT or NAME=FLOAT";

/// Makes every option of the verb and of its verbs refuse empty values (which "$UNSET" in a script
/// gives), words that are no numbers, and numbers that the type would wrap or round to infinity.
void check_values(CLI::App& verb);

/// What is wrong, as a sentence.
std::string sentence_of(const CLI::ParseError& error, const CLI::App& program);

/// An option that would be ignored is a mistake: refuses any of `names` that was given, and says
/// the reason.
Result<void> refuse_ignored(const CLI::App& verb, std::initializer_list<const char*> names,
                            std::string_view reason);

/// "wafer run": the verbs that were given.
std::string verbs_given(const CLI::App& program);

}  // namespace tensorpress::cli
