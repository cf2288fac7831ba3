#include "model/source.h"

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

/// Edits that turn one word into the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
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

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  std::size_t fewest = std::max<std::size_t>(1, std::min<std::size_t>(word.size(), 64) / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t edits = distance(word.substr(0, 64), candidate);
    if (edits < fewest) {
      fewest = edits;
      best = candidate;
    }
  }
  return best.empty() ? std::string() : text("; did you mean ", best, "?");
}

}  // namespace tensorpress::model
