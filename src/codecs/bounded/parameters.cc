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

Error too_many_fills() {
  return bad_argument("more than ", kMaxFills, " fill values are not supported");
}

Error bad_limit(std::string_view limit) {
  return bad_argument("limit '", limit, "' is not a finite number from 0 on");
}

// "-1e+34 1e+20"
std::string fills_to_text(std::span<const double> fills) {
  std::string list;
  for (const double fill : fills) list += text(list.empty() ? "" : " ", fill);
  return list;
}

Result<std::vector<double>> parse_fills(std::string_view list) {
  std::vector<double> fills;
  while (!list.empty()) {
    const std::size_t space = list.find(' ');
    TRY(const double fill, parse_number("fill value", list.substr(0, space)));
    if (fills.size() == kMaxFills) return too_many_fills();
    fills.push_back(fill);
    if (space == std::string_view::npos) break;
    list.remove_prefix(space + 1);
  }
  return fills;
}

bool is_limit(double limit) {
  return std::isfinite(limit) && limit >= 0;
}

}  // namespace

std::optional<KeptBound> Parameters::kept() const {
  if (!bound || !limit) return std::nullopt;
  return KeptBound{*bound, *limit, fills};
}

Result<Parameters> parse(std::span<const Parameter> parameters) {
  Parameters parsed;
  for (const Parameter& parameter : parameters) {
    if (parameter.value.empty()) continue;
    if (parameter.name == kBoundParameter.name) {
      TRY(parsed.bound, Bound::parse(parameter.value));
    } else if (parameter.name == kLimitParameter.name) {
      TRY(parsed.limit, parse_number("limit", parameter.value));
      if (!is_limit(*parsed.limit)) return bad_limit(parameter.value);
    } else if (parameter.name == kFillParameter.name) {
      TRY(parsed.fills, parse_fills(parameter.value));
    }
  }
  return parsed;
}

void write(const KeptBound& bound, std::span<Parameter> parameters) {
  for (Parameter& parameter : parameters) {
    if (parameter.name == kBoundParameter.name) parameter.value = bound.asked.to_string();
    if (parameter.name == kLimitParameter.name) parameter.value = text(bound.limit);
    if (parameter.name == kFillParameter.name) parameter.value = fills_to_text(bound.fill_values);
  }
}

Result<void> check(const KeptBound& bound) {
  if (bound.fill_values.size() > kMaxFills) return too_many_fills();
  if (!is_limit(bound.limit)) return bad_limit(text(bound.limit));
  return {};
}

}  // namespace tensorpress::bounded
