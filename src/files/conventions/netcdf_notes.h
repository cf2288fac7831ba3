// What a .tpz keeps of the NetCDF or HDF5 variable that it was made from: names, attributes and
// coordinates, as JSON in its attribute "netcdf" (docs/format.md). Strings in a stream have at most
// 65535 bytes, so a longer text goes on in "netcdf.1", "netcdf.2", ...
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensorpress/stream.h"

namespace tensorpress::files {

/// Numbers of the types in NetCDF's own interface, which never change.
enum class NetcdfType : int {
  i8 = 1,
  text = 2,
  i16 = 3,
  i32 = 4,
  f32 = 5,
  f64 = 6,
  u8 = 7,
  u16 = 8,
  u32 = 9,
  i64 = 10,
  u64 = 11,
  string = 12,
};

/// 0 for strings and unknown types.
std::size_t size_of(NetcdfType type);
/// "f32", "text", "string"; "" for others.
std::string_view name_of(NetcdfType type);

/// Native elements of one type, or strings.
struct NetcdfArray {
  NetcdfType type = NetcdfType::text;
  std::vector<std::byte> bytes = {};
  std::vector<std::string> strings = {};

  std::size_t count() const;
  /// Numbers as doubles; none for text and strings.
  std::vector<double> numbers() const;
  friend bool operator==(const NetcdfArray&, const NetcdfArray&) = default;
};

struct NetcdfAttribute {
  std::string name = {};
  NetcdfArray value = {};
  friend bool operator==(const NetcdfAttribute&, const NetcdfAttribute&) = default;
};

struct NetcdfCoordinate {
  std::string name;  // of the dimension
  NetcdfArray values = {};
  std::vector<NetcdfAttribute> attributes = {};
  friend bool operator==(const NetcdfCoordinate&, const NetcdfCoordinate&) = default;
};

struct NetcdfNotes {
  std::string variable;
  NetcdfType type = NetcdfType::f32;  // in the file; whole numbers are packed values
  std::vector<std::string> dimensions;
  std::vector<std::string> unlimited;
  std::vector<NetcdfAttribute> attributes;
  std::vector<NetcdfCoordinate> coordinates;
  std::vector<NetcdfAttribute> global;
  /// Names of what is not among the above: coordinates that are text, have more than one axis or
  /// are too long when a file is read; types that a classic file lacks when one is written. Not
  /// kept.
  std::vector<std::string> left_behind = {};

  /// Whole numbers that stand for data: raw scale_factor + add_offset.
  bool packed() const;
  /// The value of the variable's attribute as a number, if it has one.
  std::optional<double> number(std::string_view attribute) const;
  friend bool operator==(const NetcdfNotes&, const NetcdfNotes&) = default;
};

std::vector<Attribute> to_attributes(const NetcdfNotes& notes);
/// Absent when there are none; an error when they are damaged.
Result<std::optional<NetcdfNotes>> netcdf_notes(std::span<const Attribute> attributes);

}  // namespace tensorpress::files
