#include "json_output.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace tensorpress::cli {
namespace {

std::string in_words(const std::string& name, const Json& value) {
  if (value.is_string()) {
    // A codebook and the notes about a NetCDF variable have hundreds of characters; --json has all.
    constexpr std::size_t kLongest = 100, kShown = 40;
    const auto whole = value.get<std::string>();
    const bool may_be_long = name != "codebook" && !name.starts_with("netcdf");
    return may_be_long || whole.size() <= kLongest
               ? whole
               : text(whole.substr(0, kShown), "... (", whole.size(), " characters)");
  }
  if (value.is_number_float()) return rounded(value.get<double>(), 6);
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "none";
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

void print_json(const Json& object, std::FILE* to) {
  // Attributes may hold any bytes; what is not UTF-8 is replaced rather than thrown about.
  const std::string line = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fwrite(line.data(), 1, line.size(), to);
}

void print_fields(const Json& object, std::FILE* to) {
  std::size_t width = 0;
  for (const auto& [name, value] : object.items()) width = std::max(width, name.size());
  for (const auto& [name, value] : object.items()) {
    std::string line = text(name, std::string(width + 2 - name.size(), ' '), in_words(name, value));
    // Attributes come from files, which may want to play with the terminal.
    std::replace_if(
        line.begin(), line.end(),
        [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), to);
  }
}

Json to_json(const Shape& shape) {
  Json extents = Json::array();
  for (const auto extent : shape.extents()) extents.push_back(extent);
  return extents;
}

Json to_json(double value) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (std::abs(value) < kExactIntegers && value == std::floor(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json parameters_to_json(const Codec& codec) {
  Json parameters = Json::object();
  for (const Parameter& parameter : codec.parameters()) {
    const std::string& value = parameter.value;
    if (value.empty()) continue;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool whole = error == std::errc{} && end == value.data() + value.size();
    parameters[parameter.name] = whole ? Json(number) : Json(value);
  }
  return parameters;
}

}  // namespace tensorpress::cli
