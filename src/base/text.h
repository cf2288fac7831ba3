// text("CF ", 9, " is not in 1..8"): strings put together from parts, with numbers in their
// shortest exact form and without the locale.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace tensorpress {

inline void append_text(std::string& out, std::string_view part) {
  out += part;
}
inline void append_text(std::string& out, const char* part) {
  out += part;
}
inline void append_text(std::string& out, const std::string& part) {
  out += part;
}
inline void append_text(std::string& out, char part) {
  out += part;
}
template <class Number>
  requires std::is_arithmetic_v<Number>
void append_text(std::string& out, Number number) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

/// `value` with `digits` significant digits, as %g would print it.
std::string rounded(double value, int digits = 4);
/// 1536 -> "1.5 KiB".
std::string human_bytes(std::uint64_t bytes);
/// 16 hexadecimal digits.
std::string hex(std::uint64_t value);

}  // namespace tensorpress
