// JSON from outside. nlohmann's parser needs no stack for lists in lists, but copying, printing and
// destroying what it made does: a few megabytes of '[' would end the process. So texts are measured
// first; nothing of ours is deeper than 8. Only tools include this: the library itself has no JSON.
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/errors.h"

namespace tensorpress {

inline constexpr std::size_t kDeepestJson = 64;

/// How deep lists and objects lie in each other in a text that need not be JSON: brackets outside
/// of strings.
inline std::size_t json_nesting(std::string_view json) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') {
      ++i;  // the next one is escaped
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      deepest = std::max(deepest, ++depth);
    } else if (!in_string && (c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

/// "line 3, column 14" of the byte where the parser gave up, counted from 1.
inline std::string json_place(std::string_view json, std::size_t byte) {
  const std::string_view before = json.substr(0, byte > 0 ? byte - 1 : 0);
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 if there is none
  return text("line ", 1 + std::ranges::count(before, '\n'), ", column ",
              before.size() - line_begin + 1);
}

/// The object that a text is, or why it is none: "it is not JSON at line 3, column 14; ...".
template <class Json>
Result<Json> parse_json_object(std::string_view json) {
  if (json_nesting(json) > kDeepestJson) {
    return bad_argument("it has lists in lists, more than ", kDeepestJson, " deep");
  }
  try {
    Json object = Json::parse(json);
    if (object.is_object()) return object;
    return bad_argument("it is JSON, but of type ", object.type_name(), " and not an object");
  } catch (const typename Json::parse_error& error) {
    return bad_argument("it is not JSON at ", json_place(json, error.byte),
                        "; a comma, quote or bracket may be missing there");
  } catch (const typename Json::exception&) {
    return bad_argument("it is not JSON: it has a number that is out of range");
  }
}

}  // namespace tensorpress
