#include "report/drawing/numbers.h"

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace tensorpress::report {

std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[400];  // 1e308 has 309 digits before the point
  char* const end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals).ptr;
  std::string out(buffer, end);
  const bool negative_zero = out[0] == '-' && out.find_first_not_of("-0.") == std::string::npos;
  return negative_zero ? out.substr(1) : out;
}

std::string grouped(std::uint64_t value) {
  std::string out = text(value);
  for (std::size_t at = out.size(); at > 3;) {
    at -= 3;
    out.insert(at, 1, ',');
  }
  return out;
}

std::string percent(double share) {
  if (share > 0 && share < 0.005) return "<1 %";
  if (share < 1 && share >= 0.995) return ">99 %";
  return fixed(100 * share, 0) + " %";
}

}  // namespace tensorpress::report
