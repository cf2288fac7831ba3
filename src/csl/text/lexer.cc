#include "csl/text/lexer.h"

#include <charconv>

namespace tensorpress::csl {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// Longest first.
constexpr std::string_view kSymbols[] = {
    "<<=", ">>=", "...", "==", "!=", "<=", ">=", "<<", ">>", "->", "=>", "+=", "-=", "*=", "/=",
    "%=",  "&=",  "|=",  "^=", ".*", "{",  "}",  "(",  ")",  "[",  "]",  ";",  ":",  ",",  ".",
    "=",   "+",   "-",   "*",  "/",  "%",  "&",  "|",  "^",  "~",  "!",  "<",  ">",  "?"};

class Lexer {
 public:
  Lexer(const Sources& sources, std::uint32_t file, Diagnostics& diagnostics)
      : text_(sources.text(file)), file_(file), diagnostics_(diagnostics) {}

  std::vector<Token> run() {
    if (text_.size() >= 1u << 26) {
      error(0, "this file is larger than 64 MB");
    }
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    while (!failed_) {
      skip_space();
      if (at_ >= text_.size()) break;
      next();
    }
    Token end;
    end.at = {file_, static_cast<std::uint32_t>(text_.size())};
    tokens_.push_back(end);
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void error(std::size_t at, std::string message, std::string way_out = {}) {
    diagnostics_.error({file_, static_cast<std::uint32_t>(at)}, std::move(message),
                       std::move(way_out));
    failed_ = true;
  }
  Token& add(TokenKind kind, std::size_t start) {
    Token token;
    token.kind = kind;
    token.at = {file_, static_cast<std::uint32_t>(start)};
    token.text = text_.substr(start, at_ - start);
    tokens_.push_back(std::move(token));
    return tokens_.back();
  }
  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }
  void next() {
    const std::size_t start = at_;
    const char c = text_[at_];
    if (is_letter(c) || (c == '@' && is_letter(peek(1)))) {
      if (c == '@') ++at_;
      const std::size_t name = at_;
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      Token& token = add(c == '@' ? TokenKind::builtin : TokenKind::identifier, start);
      token.text = text_.substr(name, at_ - name);
      return;
    }
    if (is_digit(c)) return number();
    if (c == '"') return string();
    if (c == '\'') return character();
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) == symbol) {
        at_ += symbol.size();
        add(TokenKind::symbol, start);
        return;
      }
    }
    if (c == '@') return error(at_, "a name is missing behind @", "Builtins look like @get_color.");
    error(at_, "this character is not part of CSL",
          "Comments begin with //, strings with a double quote.");
  }

  void number() {
    const std::size_t start = at_;
    int base = 10;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) base = 16;
    if (peek() == '0' && (peek(1) == 'b' || peek(1) == 'B')) base = 2;
    if (peek() == '0' && (peek(1) == 'o' || peek(1) == 'O')) base = 8;
    if (base != 10) at_ += 2;
    Wide value = 0;
    std::size_t digits = 0;
    bool large = false;
    while (digit_of(peek()) < base || peek() == '_') {
      if (peek() != '_') {
        if (value >> 100 != 0) large = true;
        if (!large) value = value * base + digit_of(peek());
        ++digits;
      }
      ++at_;
    }
    bool real = false;
    if (base == 10) {
      if (peek() == '.' && is_digit(peek(1))) {
        real = true;
        ++at_;
        while (is_digit(peek())) ++at_;
      } else if (peek() == '.' && !is_letter(peek(1)) && peek(1) != '.' && peek(1) != '*') {
        real = true;  // "1."
        ++at_;
      }
      const std::size_t sign = peek(1) == '-' || peek(1) == '+' ? 2 : 1;
      if ((peek() == 'e' || peek() == 'E') && is_digit(peek(sign))) {
        real = true;
        at_ += sign;
        while (is_digit(peek())) ++at_;
      }
    }
    if (is_letter(peek()) || is_digit(peek())) {
      return error(at_, "this digit does not belong to a number",
                   "Numbers look like 42, 0x2a, 0b101010 or 4.2e1; types are said with @as.");
    }
    if (digits == 0) return error(start, "this number has no digits");
    Token& token = add(real ? TokenKind::real : TokenKind::integer, start);
    if (real) {
      std::string words(token.text);
      if (words.ends_with('.')) words += '0';
      std::from_chars(words.data(), words.data() + words.size(), token.real);
    } else if (large) {
      error(start, "this number needs more than 100 bits");
    }
    token.integer = value;
  }

  /// One character of a string or character literal, escapes undone.
  bool one(std::string& words) {
    const char c = text_[at_++];
    if (c != '\\') {
      words += c;
      return true;
    }
    const char escape = peek();
    ++at_;
    switch (escape) {
      case 'n':
        words += '\n';
        return true;
      case 't':
        words += '\t';
        return true;
      case 'r':
        words += '\r';
        return true;
      case '0':
        words += '\0';
        return true;
      case '\\':
      case '"':
      case '\'':
        words += escape;
        return true;
      case 'x':
        if (digit_of(peek()) < 16 && digit_of(peek(1)) < 16) {
          words += static_cast<char>(digit_of(peek()) * 16 + digit_of(peek(1)));
          at_ += 2;
          return true;
        }
        break;
      default:
        break;
    }
    error(at_ - 2, "this escape is not part of CSL", "Known: \\n \\t \\r \\0 \\\\ \\\" \\' \\x2a.");
    return false;
  }
  void string() {
    const std::size_t start = at_++;
    std::string words;
    while (peek() != '"') {
      if (at_ >= text_.size() || peek() == '\n') {
        return error(start, "this string does not end on its line",
                     "Close it with a double quote.");
      }
      if (!one(words)) return;
    }
    ++at_;
    add(TokenKind::string, start).words = std::move(words);
  }
  void character() {
    const std::size_t start = at_++;
    std::string words;
    if (at_ >= text_.size() || peek() == '\n' || !one(words) || peek() != '\'') {
      if (!failed_) error(start, "this character literal is not closed");
      return;
    }
    ++at_;
    Token& token = add(TokenKind::integer, start);
    token.integer = static_cast<unsigned char>(words[0]);
  }

  std::string_view text_;
  std::uint32_t file_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  bool failed_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(const Sources& sources, std::uint32_t file, Diagnostics& diagnostics) {
  return Lexer(sources, file, diagnostics).run();
}

}  // namespace tensorpress::csl
