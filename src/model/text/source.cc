#include "model/text/source.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::model {
namespace {

constexpr std::size_t kLongestShownLine = 160;

/// Hostile text must not reach a terminal as it is.
std::string printable(std::string_view part) {
  std::string shown;
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    shown += c == '\t' ? ' ' : (byte < 0x20 || byte == 0x7f) ? '?' : c;
  }
  return shown;
}

}  // namespace

SourceText::SourceText(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  for (std::size_t begin = 0; begin <= text_.size();) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    std::size_t size = end - begin;
    if (size > 0 && text_[end - 1] == '\r') --size;
    lines_.push_back({begin, size});
    begin = end + 1;
  }
}

std::string_view SourceText::line(std::uint32_t number) const {
  if (number == 0 || number > lines_.size()) return {};
  const Line& line = lines_[number - 1];
  return std::string_view(text_).substr(line.begin, line.size);
}

Error SourceText::error_at(Place place, std::string_view sentence) const {
  const std::string file = printable(name_);
  const std::string shown = printable(sentence);
  if (place.line == 0) return bad_argument(file, ": ", shown);
  const std::size_t column = std::max<std::size_t>(place.column, 1) - 1;
  std::string_view all = line(place.line);
  std::size_t first = 0;
  if (all.size() > kLongestShownLine && column > kLongestShownLine / 2) {
    first = std::min(column - kLongestShownLine / 2, all.size());
  }
  const std::string excerpt = printable(all.substr(first, kLongestShownLine));
  const std::string number = text(place.line);
  return bad_argument(file, ":", place.line, ":", place.column, ": ", shown, "\n  ", number, " | ",
                      excerpt, "\n  ", std::string(number.size(), ' '), " | ",
                      std::string(column - first, ' '), "^");
}

}  // namespace tensorpress::model
