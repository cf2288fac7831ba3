#include "messages.h"

#include <cstdio>

#include "base/text.h"

namespace tensorpress::cli {

std::string printable(std::string_view words) {
  std::string line(words);
  for (char& character : line) {
    if (static_cast<unsigned char>(character) < ' ' || character == 127) character = ' ';
  }
  return line;
}

void print_message(std::string_view sentence) {
  const std::string line = text(printable(text("tensorpress: ", sentence)), "\n");
  std::fputs(line.c_str(), stderr);
}

std::string sentence_of(const Error& error) {
  if (error.code != ErrorCode::likely_fill) return error.message;
  return text(error.message, ": --fill V, --range LO:HI or --whole-range");
}

Error about(const std::string& path, Error error) {
  const std::string name = path == "-" ? "standard input" : path;
  const bool named = error.code == ErrorCode::io || error.message.find(name) != std::string::npos;
  if (!named) error.message = text(name, ": ", error.message);
  return error;
}

}  // namespace tensorpress::cli
