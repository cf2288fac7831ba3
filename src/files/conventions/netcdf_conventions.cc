#include "files/conventions/netcdf_conventions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "files/conventions/netcdf_numbers.h"

namespace tensorpress::files {
namespace {

/// The value as a T, if one is equal to it.
template <class T, class From>
std::optional<T> exactly(From value) {
  if constexpr (std::is_integral_v<From>) {
    if (!std::in_range<T>(value)) return std::nullopt;
  } else {
    // The largest of 64 bits is no double, but one more is.
    const auto end = static_cast<From>(std::exp2(std::numeric_limits<T>::digits));
    const auto first = static_cast<From>(std::numeric_limits<T>::min());
    if (!(value >= first && value < end) || value != std::trunc(value)) return std::nullopt;
  }
  return static_cast<T>(value);
}

template <class T>
NetcdfArray array_of(NetcdfType type, T value) {
  NetcdfArray array{.type = type};
  array.bytes.resize(sizeof value);
  std::memcpy(array.bytes.data(), &value, sizeof value);
  return array;
}

bool is_float(NetcdfType type) {
  return type == NetcdfType::f32 || type == NetcdfType::f64;
}

void add_names(const std::string& text, std::set<std::string>& names) {
  if (!text.empty()) names.insert(text);  // a name may have blanks in it
  for (const std::string& word : words_of(text)) {
    // "area: cell_area" has a role before the name.
    const std::string variable = bare_name(word.substr(word.rfind(':') + 1));
    if (!variable.empty()) names.insert(variable);
  }
}

}  // namespace

const NetcdfAttribute* find_attribute(const std::vector<NetcdfAttribute>& attributes,
                                      std::string_view name) {
  const auto found = std::ranges::find(attributes, name, &NetcdfAttribute::name);
  return found != attributes.end() ? &*found : nullptr;
}

std::string text_of(const std::vector<NetcdfAttribute>& attributes, std::string_view name) {
  const NetcdfAttribute* const attribute = find_attribute(attributes, name);
  if (attribute == nullptr) return {};
  if (attribute->value.type == NetcdfType::text) {
    const std::string text(reinterpret_cast<const char*>(attribute->value.bytes.data()),
                           attribute->value.bytes.size());
    return text.substr(0, text.find('\0'));  // HDF5 may pad it with zeros
  }
  std::string joined;
  for (const std::string& each : attribute->value.strings) {
    if (!joined.empty()) joined += ' ';
    joined += each;
  }
  return joined;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string bare_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

void add_coordinates_of_variable(const std::vector<NetcdfAttribute>& attributes,
                                 std::set<std::string>& names) {
  // CF 1.11, and for meshes UGRID 1.0.
  for (const char* const name :
       {"bounds", "cell_measures", "climatology", "coordinates", "edges", "edge_coordinates",
        "face_coordinates", "formula_terms", "geometry", "node_coordinates"}) {
    add_names(text_of(attributes, name), names);
  }
  // "crs: lat lon" names a variable before the colon as well.
  std::string mapping = text_of(attributes, "grid_mapping");
  std::ranges::replace(mapping, ':', ' ');
  add_names(mapping, names);
}

void add_coordinates_of_group(const std::vector<NetcdfAttribute>& attributes,
                              std::set<std::string>& names) {
  add_names(text_of(attributes, "coordinates"), names);
}

std::optional<NetcdfArray> default_fill(NetcdfType type) {
  // NC_FILL_... of netcdf.h: a byte's -127, the smallest other number but one of those with a sign,
  // the largest of those without (of 64 bits one less), and 15 * 2^119 rounded.
  switch (type) {
    case NetcdfType::i8:
      return array_of(type, std::int8_t{-127});
    case NetcdfType::u8:
      return array_of(type, std::uint8_t{255});
    case NetcdfType::i16:
      return array_of(type, std::int16_t{-32767});
    case NetcdfType::u16:
      return array_of(type, std::uint16_t{65535});
    case NetcdfType::i32:
      return array_of(type, std::int32_t{-2147483647});
    case NetcdfType::u32:
      return array_of(type, std::uint32_t{4294967295});
    case NetcdfType::i64:
      return array_of(type, std::int64_t{-9223372036854775806});
    case NetcdfType::u64:
      return array_of(type, std::uint64_t{18446744073709551614U});
    case NetcdfType::f32:
      return array_of(type, 9.9692099683868690e+36F);
    case NetcdfType::f64:
      return array_of(type, 9.9692099683868690e+36);
    case NetcdfType::text:
    case NetcdfType::string:
      break;
  }
  return std::nullopt;
}

bool FillValues::own_counts() const {
  return own && own != default_fill(type) && own->numbers() != std::vector{0.0};
}

void FillValues::state_own(std::vector<NetcdfAttribute>& to) const {
  if (own_counts() && find_attribute(to, "_FillValue") == nullptr)
    to.push_back({"_FillValue", *own});
}

std::vector<NetcdfArray> FillValues::all() const {
  std::vector<NetcdfArray> arrays;
  for (const char* const name : {"_FillValue", "missing_value"}) {
    if (const auto* const attribute = find_attribute(attributes, name)) {
      arrays.push_back(attribute->value);
    }
  }
  const auto written = default_fill(type);
  if (own_counts()) arrays.push_back(*own);
  // Every byte may be data, and whole numbers have one fill value.
  const bool byte = type == NetcdfType::i8 || type == NetcdfType::u8;
  const bool other = !is_float(type) && find_attribute(attributes, "_FillValue") != nullptr;
  if (written && !byte && !other) arrays.push_back(*written);
  return arrays;
}

std::vector<double> FillValues::as_doubles() const {
  std::vector<double> fills;
  for (const NetcdfArray& array : all()) {
    for (const double fill : array.numbers()) {
      const bool known = std::ranges::any_of(fills, [&](double each) {
        return each == fill || (std::isnan(each) && std::isnan(fill));
      });
      if (!known) fills.push_back(fill);
    }
  }
  return fills;
}

std::vector<std::uint64_t> FillValues::as_whole_numbers() const {
  std::vector<std::uint64_t> fills;
  const auto add = [&]<class T>(const NetcdfArray& array, T) {
    with_number(array.type, [&]<class From>(From) {
      for (std::size_t i = 0; i < array.count(); ++i) {
        const auto fill = exactly<T>(element<From>(array.bytes.data(), i));
        if (fill) fills.push_back(static_cast<std::uint64_t>(*fill));
      }
    });
  };
  for (const NetcdfArray& array : all()) {
    with_number(type, [&]<class T>(T number) {
      if constexpr (std::is_integral_v<T>) add(array, number);
    });
  }
  return fills;
}

}  // namespace tensorpress::files
