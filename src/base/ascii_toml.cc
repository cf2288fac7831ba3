#include "base/ascii_toml.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>

#include "base/errors.h"
#include "base/utf8.h"

namespace tensorpress {
namespace {

bool beyond_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

/// How many bytes the character takes that begins with this one, in well-formed UTF-8.
std::size_t character_bytes(char first) {
  return static_cast<std::size_t>(std::countl_one(static_cast<unsigned char>(first)));
}

std::string escaped(std::string_view character) {
  std::uint32_t code = static_cast<unsigned char>(character[0]) & (0x7Fu >> character.size());
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  std::array<char, 16> word{};
  std::snprintf(word.data(), word.size(), "\\U%08X", code);
  return word.data();
}

}  // namespace

Result<std::string> ascii_toml(std::string_view text_of_file, const std::string& file) {
  if (!is_utf8(text_of_file)) return bad_argument(file, ":1: the file is not UTF-8");
  std::string ascii;
  ascii.reserve(text_of_file.size());
  std::size_t line = 1;
  char quote = 0;  // of the string that is open
  bool comment = false;
  bool escape = false;
  for (std::size_t i = 0; i < text_of_file.size(); ++i) {
    const char c = text_of_file[i];
    if (beyond_ascii(c)) {
      const auto character = text_of_file.substr(i, character_bytes(c));
      if (comment) {
        ascii += '?';
      } else if (quote == '"' && !escape) {
        ascii += escaped(character);
      } else {
        return bad_argument(file, ":", line, ": a character beyond ASCII, '", character,
                            "'; it can stand in \"...\" and in comments");
      }
      i += character.size() - 1;
      continue;
    }
    ascii += c;
    if (c == '\n') {
      ++line;
      quote = 0;
      comment = escape = false;
    } else if (comment) {
      continue;
    } else if (quote != 0) {
      if (c == quote && !escape) quote = 0;
      escape = c == '\\' && quote == '"' && !escape;
    } else if (c == '#') {
      comment = true;
    } else if (c == '"' || c == '\'') {
      if (text_of_file.substr(i, 3) == std::string(3, c)) {
        return bad_argument(file, ":", line, ": a string of several lines; write it in one");
      }
      quote = c;
    }
  }
  return ascii;
}

}  // namespace tensorpress
