// How deep the lists and objects of a JSON text lie in each other. nlohmann's parser needs no stack
// for them, but copying, printing and destroying what it made does: a few megabytes of '[' would
// end the process. So texts from outside are measured first; nothing of ours is deeper than 8.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace tensorpress::files {

inline constexpr std::size_t kDeepestJson = 64;

/// Of a text that need not be JSON: brackets outside of strings.
inline std::size_t json_nesting(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
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

}  // namespace tensorpress::files
