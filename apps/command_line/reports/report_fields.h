// What a verb reports field by field, in order: a JSON object for programs, and a line for each
// field for a person. The code that sets a value says by its type how a person reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "command_line/reports/json_output.h"

namespace tensorpress::cli {

/// For a person: "245760 (240 KiB)".
struct ByteCount {
  std::uint64_t bytes = 0;
};

/// A text or an object of perhaps thousands of characters; a person sees how it begins.
struct LongText {
  Json whole;
};

struct ReportField;
class ReportFields;

/// A Json here is one text, number, truth value or null. A shape is "3x32x32" for a person, numbers
/// have a space between, and fields of a field are "cf 4, layout square".
using ReportValue =
    std::variant<Json, ByteCount, LongText, Shape, std::vector<double>, ReportFields>;

class ReportFields {
 public:
  /// Behind the others, or in place of the value that the field has.
  void set(std::string_view name, ReportValue value);
  bool empty() const { return fields_.empty(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

  /// "codec        dct-chop", a line each, with the names padded.
  std::string to_text() const;
  Json to_json() const;

 private:
  std::vector<ReportField> fields_;
};

struct ReportField {
  std::string name;
  ReportValue value;
};

}  // namespace tensorpress::cli
