#include "command_line/reports/json_output.h"

#include <cmath>

namespace tensorpress::cli {

std::string json_text(const Json& value) {
  // Attributes may hold any bytes; what is not UTF-8 is replaced rather than thrown about.
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json json_shape(const Shape& shape) {
  Json extents = Json::array();
  for (const auto extent : shape.extents()) extents.push_back(extent);
  return extents;
}

Json json_number(double value) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::abs(value) < kExactIntegers && value == std::floor(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

}  // namespace tensorpress::cli
