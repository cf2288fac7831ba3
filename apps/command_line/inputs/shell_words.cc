#include "command_line/inputs/shell_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tensorpress::cli {

std::string shell_quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string shell_word(const std::string& word) {
  const bool plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./:=,").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return plain && !word.empty() ? word : shell_quoted(word);
}

}  // namespace tensorpress::cli
