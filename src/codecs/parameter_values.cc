#include "codecs/parameter_values.h"

#include <charconv>

#include "base/errors.h"

namespace tensorpress {
namespace {

template <class Number>
bool parse(std::string_view value, Number& number) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} && end == value.data() + value.size() && text(number) == value;
}

}  // namespace

Result<int> whole_number(std::string_view name, std::string_view value, int low, int high) {
  int number = 0;
  if (!parse(value, number) || number < low || number > high) {
    return bad_argument(name, " is '", value, "'; it must be a whole number from ", low, " to ",
                        high);
  }
  return number;
}

Result<std::uint64_t> whole_number_u64(std::string_view name, std::string_view value) {
  std::uint64_t number = 0;
  if (!parse(value, number)) {
    return bad_argument(name, " is '", value, "'; it must be a whole number from 0 to ",
                        UINT64_MAX);
  }
  return number;
}

Result<int> one_of(const ParameterInfo& info, std::string_view value) {
  int index = 0;
  for (std::string_view rest = info.choices; !rest.empty(); ++index) {
    const auto bar = rest.find('|');
    if (rest.substr(0, bar) == value) return index;
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  }
  return bad_argument(info.name, " is '", value, "'; it must be one of ", info.choices);
}

}  // namespace tensorpress
