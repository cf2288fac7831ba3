// What verbs report as JSON: one object with its keys in order, on one line. Numbers that JSON
// cannot hold (the infinite PSNR of a perfect copy) are null.
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

Json json_shape(const Shape& shape);
/// Whole numbers become JSON integers.
Json json_number(double value);

}  // namespace tensorpress::cli
