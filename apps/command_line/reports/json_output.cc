#include "command_line/reports/json_output.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "codecs/bounded/parameters.h"
#include "command_line/reports/messages.h"

namespace tensorpress::cli {
namespace {

/// A codebook and the notes about a NetCDF variable have hundreds of characters; --json has all.
std::string shortened(const std::string& whole) {
  constexpr std::size_t kLongest = 100, kShown = 40;
  if (whole.size() <= kLongest) return whole;
  return text(whole.substr(0, kShown), "... (", whole.size(), " characters)");
}

std::string in_words(const std::string& name, const Json& value) {
  const bool is_notes = name.starts_with("netcdf");
  if (is_notes && value.is_object()) {
    return shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  if (value.is_string()) {
    const auto whole = value.get<std::string>();
    return name == "codebook" || is_notes ? shortened(whole) : whole;
  }
  if (value.is_number_float()) return rounded(value.get<double>(), 6);
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "none";
  if (value.is_array() && name.starts_with("fill")) {
    std::string numbers;
    for (const Json& number : value) numbers += text(numbers.empty() ? "" : " ", number.dump());
    return numbers;
  }
  if (value.is_array()) {
    std::string extents;
    for (const Json& extent : value) extents += text(extents.empty() ? "" : "x", extent.dump());
    return extents.empty() ? "scalar" : extents;
  }
  if (value.is_object()) {
    std::string pairs;
    for (const auto& [key, item] : value.items()) {
      pairs += text(pairs.empty() ? "" : ", ", key, " ", in_words(key, item));
    }
    return pairs;
  }
  const bool is_bytes = name.find("bytes") != std::string::npos && value.is_number_integer();
  if (is_bytes && value.get<std::int64_t>() >= 1024) {
    return text(value.dump(), " (", human_bytes(value.get<std::uint64_t>()), ")");
  }
  return value.dump();
}

}  // namespace

std::string json_text(const Json& value) {
  // Attributes may hold any bytes; what is not UTF-8 is replaced rather than thrown about.
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string fields_in_words(const Json& object) {
  std::size_t width = 0;
  for (const auto& [name, value] : object.items()) width = std::max(width, name.size());
  std::string lines;
  for (const auto& [name, value] : object.items()) {
    // Attributes come from files, which may want to play with the terminal.
    lines +=
        printable(text(name, std::string(width + 2 - name.size(), ' '), in_words(name, value)));
    lines += '\n';
  }
  return lines;
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

Json number_or_text(std::string_view value) {
  // from_chars would also take "inf" and "nan", which JSON has no numbers for.
  const bool may_be_number =
      !value.empty() && value.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  const bool is_number = may_be_number && error == std::errc{} && stop == end;
  return is_number ? json_number(number) : Json(value);
}

Json numbers_to_json(std::span<const double> numbers) {
  Json list = Json::array();
  for (const double number : numbers) list.push_back(json_number(number));
  return list;
}

Json parameters_to_json(const Codec& codec) {
  Json parameters = Json::object();
  for (const Parameter& parameter : codec.parameters()) {
    if (parameter.value.empty()) continue;
    const auto& kept = codec.kept_bound();
    parameters[parameter.name] = kept && parameter.name == bounded::kFillParameter.name
                                     ? numbers_to_json(kept->fill_values)
                                     : number_or_text(parameter.value);
  }
  return parameters;
}

}  // namespace tensorpress::cli
