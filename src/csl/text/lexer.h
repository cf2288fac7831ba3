// CSL's text becomes tokens. Keywords are identifiers here: fields may be called `color` or
// `async`, and the parser knows where a keyword counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "csl/text/source.h"

namespace tensorpress::csl {

__extension__ using Wide = __int128;  // comptime integers; overflow of it is an error

enum class TokenKind : std::uint8_t {
  end,
  identifier,
  builtin,  // @name, without the @
  integer,
  real,
  string,  // the text between quotes, escapes undone
  symbol,
};

struct Token {
  TokenKind kind = TokenKind::end;
  Position at;
  std::string_view text;  // of identifiers, builtins and symbols
  Wide integer = 0;
  double real = 0;
  std::string words = {};  // of strings
};

/// Ends with a token of kind `end`, also after an error.
std::vector<Token> tokens_of(const Sources& sources, std::uint32_t file, Diagnostics& diagnostics);

}  // namespace tensorpress::csl
