// What verbs report, kept as one JSON object with its keys in order: --json prints it as one line,
// otherwise a person gets a line per key. Numbers that JSON cannot hold (the infinite PSNR of a
// perfect copy) are null in JSON.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "tensorpress/stream.h"

namespace tensorpress::cli {

using Json = nlohmann::ordered_json;

void print_json(const Json& object, std::FILE* to);
/// "codec        dct-chop": names padded, byte counts with their size in words, shapes as 3x32x32.
std::string fields_in_words(const Json& object);
void print_fields(const Json& object, std::FILE* to);

Json to_json(const Shape& shape);
/// Whole numbers become JSON integers.
Json to_json(double value);
/// A number where the text is one.
Json number_or_text(std::string_view value);
Json numbers_to_json(std::span<const double> numbers);
/// {"cf": 4, "layout": "square", ...}
Json parameters_to_json(const Codec& codec);

}  // namespace tensorpress::cli
