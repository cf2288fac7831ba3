#include "files/conventions/netcdf_notes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/errors.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "files/conventions/netcdf_numbers.h"

namespace tensorpress::files {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPieceBytes = 60000;
constexpr std::array<std::string_view, 13> kNames = {
    "", "i8", "text", "i16", "i32", "f32", "f64", "u8", "u16", "u32", "i64", "u64", "string"};
constexpr std::array<std::size_t, 13> kSizes = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8, 0};

std::size_t index_of(NetcdfType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kNames.size() ? index : 0;
}

/// JSON has no NaN and no infinity: they are strings. Floats are written as short as floats can be.
template <class T>
Json number_to_json(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    const std::string shortest = text(value);
    double exact = 0;
    std::from_chars(shortest.data(), shortest.data() + shortest.size(), exact);
    return exact;
  } else {
    return value;
  }
}

template <class T>
T number_from_json(const Json& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value == "nan") return std::numeric_limits<T>::quiet_NaN();
    if (value == "inf") return std::numeric_limits<T>::infinity();
    if (value == "-inf") return -std::numeric_limits<T>::infinity();
    return value.get<T>();
  } else {
    const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                 : value.is_number_integer() &&
                                                       std::in_range<T>(value.get<std::int64_t>());
    if (!fits) throw std::invalid_argument("a value is not a whole number, or is out of range");
    return value.get<T>();
  }
}

Json numbers_to_json(const NetcdfArray& array) {
  Json values = Json::array();
  with_number(array.type, [&]<class T>(T) {
    for (std::size_t i = 0; i < array.count(); ++i) {
      values.push_back(number_to_json(element<T>(array.bytes.data(), i)));
    }
  });
  return values;
}

void numbers_from_json(const Json& values, NetcdfArray& array) {
  with_number(array.type, [&]<class T>(T) {
    array.bytes.resize(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = number_from_json<T>(values[i]);
      std::memcpy(array.bytes.data() + i * sizeof(T), &value, sizeof value);
    }
  });
}

/// Text is a string (or, where it is not UTF-8, its bytes); anything else {"f32": [...]}.
Json to_json(const NetcdfArray& array) {
  if (array.type == NetcdfType::text) {
    const std::string text(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
    if (is_utf8(text)) return text;
    NetcdfArray bytes{.type = NetcdfType::u8, .bytes = array.bytes};
    return Json{{"text", numbers_to_json(bytes)}};
  }
  if (array.type == NetcdfType::string) return Json{{"string", array.strings}};
  return Json{{std::string(name_of(array.type)), numbers_to_json(array)}};
}

/// Throws what nlohmann throws; netcdf_notes catches it.
NetcdfArray array_from_json(const Json& value) {
  NetcdfArray array;
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const auto bytes = std::as_bytes(std::span(text));
    array.bytes.assign(bytes.begin(), bytes.end());
    return array;
  }
  if (!value.is_object() || value.empty()) throw std::invalid_argument("an array has no type");
  const auto first = value.begin();
  const std::string& name = first.key();
  const Json& values = first.value();
  const auto* const known = std::ranges::find(kNames, std::string_view(name));
  if (known == kNames.end() || name.empty()) return array;
  array.type = static_cast<NetcdfType>(known - kNames.begin());
  if (array.type == NetcdfType::string) {
    array.strings = values.get<std::vector<std::string>>();
  } else if (array.type == NetcdfType::text) {
    NetcdfArray bytes{.type = NetcdfType::u8};
    numbers_from_json(values, bytes);
    array.bytes = std::move(bytes.bytes);
  } else {
    numbers_from_json(values, array);
  }
  return array;
}

Json to_json(const std::vector<NetcdfAttribute>& attributes) {
  Json object = Json::object();
  for (const auto& attribute : attributes) object[attribute.name] = to_json(attribute.value);
  return object;
}

std::vector<NetcdfAttribute> attributes_from_json(const Json& object) {
  std::vector<NetcdfAttribute> attributes;
  for (const auto& [name, value] : object.items()) {
    attributes.push_back({name, array_from_json(value)});
  }
  return attributes;
}

NetcdfNotes notes_from_json(const Json& json) {
  NetcdfNotes notes;
  notes.variable = json.at("variable").get<std::string>();
  const auto type = json.at("type").get<std::string>();
  const auto* const known = std::ranges::find(kNames, std::string_view(type));
  if (known != kNames.end()) notes.type = static_cast<NetcdfType>(known - kNames.begin());
  notes.dimensions = json.at("dimensions").get<std::vector<std::string>>();
  notes.unlimited = json.value("unlimited", std::vector<std::string>());
  notes.attributes = attributes_from_json(json.value("attributes", Json::object()));
  notes.global = attributes_from_json(json.value("global", Json::object()));
  const Json coordinates = json.value("coordinates", Json::object());
  for (const auto& [name, coordinate] : coordinates.items()) {
    notes.coordinates.push_back({name, array_from_json(coordinate.at("values")),
                                 attributes_from_json(coordinate.at("attributes"))});
  }
  return notes;
}

}  // namespace

std::size_t size_of(NetcdfType type) {
  return kSizes[index_of(type)];
}

std::string_view name_of(NetcdfType type) {
  return kNames[index_of(type)];
}

std::size_t NetcdfArray::count() const {
  const std::size_t size = size_of(type);
  return size == 0 ? strings.size() : bytes.size() / size;
}

std::vector<double> NetcdfArray::numbers() const {
  std::vector<double> values;
  with_number(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < count(); ++i) {
      values.push_back(static_cast<double>(element<T>(bytes.data(), i)));
    }
  });
  return values;
}

bool NetcdfNotes::packed() const {
  return type != NetcdfType::f32 && type != NetcdfType::f64 && type != NetcdfType::text &&
         size_of(type) != 0;
}

std::optional<double> NetcdfNotes::number(std::string_view attribute) const {
  for (const auto& candidate : attributes) {
    if (candidate.name != attribute) continue;
    const auto values = candidate.value.numbers();
    if (!values.empty()) return values.front();
  }
  return std::nullopt;
}

std::vector<Attribute> to_attributes(const NetcdfNotes& notes) {
  Json json;
  json["variable"] = notes.variable;
  json["type"] = name_of(notes.type);
  json["dimensions"] = notes.dimensions;
  if (!notes.unlimited.empty()) json["unlimited"] = notes.unlimited;
  if (!notes.attributes.empty()) json["attributes"] = to_json(notes.attributes);
  for (const auto& coordinate : notes.coordinates) {
    json["coordinates"][coordinate.name] = {{"attributes", to_json(coordinate.attributes)},
                                            {"values", to_json(coordinate.values)}};
  }
  if (!notes.global.empty()) json["global"] = to_json(notes.global);
  // Names that are not UTF-8 are replaced rather than thrown about. Pieces end between characters:
  // everything beyond ASCII is escaped.
  const std::string whole = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::vector<Attribute> attributes;
  for (std::size_t at = 0; at < whole.size(); at += kPieceBytes) {
    attributes.push_back(
        {at == 0 ? "netcdf" : text("netcdf.", at / kPieceBytes), whole.substr(at, kPieceBytes)});
  }
  return attributes;
}

Result<std::optional<NetcdfNotes>> netcdf_notes(std::span<const Attribute> attributes) {
  std::string whole;
  std::size_t pieces = 0;
  for (const Attribute& attribute : attributes) {
    const bool next = attribute.name == (pieces == 0 ? "netcdf" : text("netcdf.", pieces));
    if (!next) continue;
    whole += attribute.value;
    ++pieces;
  }
  if (pieces == 0) return std::optional<NetcdfNotes>();
  const auto json = parse_json_object<Json>(whole);
  if (!json.ok()) {
    return corrupt("the attribute 'netcdf' of the stream is damaged: ", json.error().message);
  }
  try {
    return std::optional(notes_from_json(*json));
  } catch (const std::exception& error) {
    return corrupt("the attribute 'netcdf' of the stream is damaged: ", error.what());
  }
}

}  // namespace tensorpress::files
