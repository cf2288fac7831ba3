// Small checks of markup: how often a word is in it, and that it is well formed: tags nest,
// attribute values are quoted, and <, > and & stand for themselves nowhere. Enough for what our
// reports write (void elements close themselves).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::report {

/// The end of the tag that begins before `at`, honouring quotes; npos when there is none.
inline std::size_t end_of_tag(std::string_view markup, std::size_t at) {
  bool quoted = false;
  for (; at < markup.size(); ++at) {
    if (markup[at] == '"') quoted = !quoted;
    if (!quoted && markup[at] == '<') return std::string_view::npos;
    if (!quoted && markup[at] == '>') return at;
  }
  return std::string_view::npos;
}

/// name="value" pairs only.
inline bool has_sound_attributes(std::string_view attributes) {
  while (true) {
    const std::size_t begin = attributes.find_first_not_of(" \n/");
    if (begin == std::string_view::npos) return true;
    const std::size_t open = attributes.find("=\"", begin);
    if (open == std::string_view::npos) return false;
    if (attributes.substr(begin, open - begin).find_first_of(" \n\"") != std::string_view::npos) {
      return false;
    }
    const std::size_t close = attributes.find('"', open + 2);
    if (close == std::string_view::npos) return false;
    attributes.remove_prefix(close + 1);
    if (!attributes.empty() && attributes[0] != ' ' && attributes[0] != '/') return false;
  }
}

/// What is wrong first, or nothing.
inline std::optional<std::string> unbalanced(std::string_view markup) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < markup.size();) {
    const char c = markup[at];
    const bool in_style = !open.empty() && open.back() == "style";
    if (c == '>' && !in_style) return "a bare > at " + std::to_string(at);
    if (c == '&' && !in_style) {
      const std::size_t end = markup.substr(at, 8).find(';');
      if (end == std::string_view::npos) return "a bare & at " + std::to_string(at);
    }
    if (c != '<' || (in_style && markup.substr(at, 8) != "</style>")) {
      ++at;
      continue;
    }
    const std::size_t end = end_of_tag(markup, at + 1);
    if (end == std::string_view::npos) return "an unfinished tag at " + std::to_string(at);
    const std::string_view tag = markup.substr(at + 1, end - at - 1);
    const std::size_t name_end = std::min(tag.find_first_of(" \n"), tag.size());
    const std::string name(tag.substr(0, name_end));
    if (name.empty()) return "a bare < at " + std::to_string(at);
    at = end + 1;
    if (name[0] == '!') continue;
    if (name[0] == '/') {
      if (open.empty() || open.back() != name.substr(1)) return "unexpected <" + name + ">";
      open.pop_back();
      continue;
    }
    if (!has_sound_attributes(tag.substr(name_end))) return "bad attributes in <" + name + ">";
    if (tag.back() != '/') open.push_back(name);
  }
  if (!open.empty()) return "<" + open.back() + "> is never closed";
  return std::nullopt;
}

/// How often a word stands in the markup.
inline std::size_t occurrences(std::string_view of, std::string_view in) {
  std::size_t count = 0;
  for (std::size_t at = in.find(of); at != std::string_view::npos; at = in.find(of, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace tensorpress::report
