#include "report/drawing/base64.h"

#include <string_view>

namespace tensorpress::report {

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t taken = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;  // 24 bits; what is missing at the end is zero
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < taken ? bytes[at + i] : 0u);
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= taken ? kAlphabet[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return out;
}

}  // namespace tensorpress::report
