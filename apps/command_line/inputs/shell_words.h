// Words of commands that a person is shown and may copy into a shell.
#pragma once

#include <string>

namespace tensorpress::cli {

/// One word of a shell's line, whatever is in it.
std::string shell_quoted(const std::string& word);
/// The same, as it is where it needs no quotes.
std::string shell_word(const std::string& word);

}  // namespace tensorpress::cli
