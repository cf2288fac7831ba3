#include "codecs/bounded/parameters.h"

#include <charconv>
#include <cmath>

#include "base/errors.h"

namespace tensorpress::bounded {
namespace {

constexpr std::size_t kMaxFills = 16;

Result<double> parse_number(std::string_view name, std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) {
    return bad_argument(name, " '", value, "' is not a number");
  }
  return number;
}

}  // namespace

Result<std::vector<double>> parse_fills(std::string_view list) {
  std::vector<double> fills;
  while (!list.empty()) {
    const std::size_t space = list.find(' ');
    TRY(const double fill, parse_number("fill value", list.substr(0, space)));
    if (fills.size() == kMaxFills) {
      return bad_argument("more than ", kMaxFills, " fill values are not supported");
    }
    fills.push_back(fill);
    if (space == std::string_view::npos) break;
    list.remove_prefix(space + 1);
  }
  return fills;
}

Result<Parameters> parse(std::span<const Parameter> parameters) {
  Parameters parsed;
  for (const Parameter& parameter : parameters) {
    if (parameter.value.empty()) continue;
    if (parameter.name == kBoundParameter.name) {
      TRY(parsed.bound, Bound::parse(parameter.value));
    } else if (parameter.name == kLimitParameter.name) {
      TRY(parsed.limit, parse_number("limit", parameter.value));
      if (!std::isfinite(*parsed.limit) || *parsed.limit < 0) {
        return bad_argument("limit '", parameter.value, "' is not a finite number from 0 on");
      }
    } else if (parameter.name == kFillParameter.name) {
      TRY(parsed.fills, parse_fills(parameter.value));
    }
  }
  return parsed;
}

std::string fills_to_text(std::span<const double> fills) {
  std::string list;
  for (const double fill : fills) list += text(list.empty() ? "" : " ", fill);
  return list;
}

}  // namespace tensorpress::bounded
