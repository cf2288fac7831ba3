// What verbs report as JSON: one object with its keys in order, which is one line for programs and
// a line per key for a person. Numbers that JSON cannot hold (the infinite PSNR of a perfect copy)
// are null in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "tensorpress/stream.h"

namespace tensorpress::cli {

using Json = nlohmann::ordered_json;

/// One line, with its end.
std::string json_text(const Json& value);
/// "codec        dct-chop": names padded, byte counts with their size in words, shapes as 3x32x32.
std::string fields_in_words(const Json& object);

Json json_shape(const Shape& shape);
/// Whole numbers become JSON integers.
Json json_number(double value);
/// A number where the text is one.
Json number_or_text(std::string_view value);
Json numbers_to_json(std::span<const double> numbers);
/// {"cf": 4, "layout": "square", ...}
Json parameters_to_json(const Codec& codec);

}  // namespace tensorpress::cli
