#include "csl/text/source.h"

#include <algorithm>
#include <utility>

namespace tensorpress::csl {

std::uint32_t Sources::add(std::string path, std::string text) {
  files_.push_back({std::move(path), std::move(text)});
  return static_cast<std::uint32_t>(files_.size() - 1);
}

Sources::Place Sources::place(Position position) const {
  Place place;
  if (position.file >= files_.size()) return place;
  const File& file = files_[position.file];
  const std::string_view all = file.text;
  const std::size_t offset = std::min<std::size_t>(position.offset, all.size());
  place.path = file.path;
  place.line = 1 + static_cast<std::size_t>(std::count(all.begin(), all.begin() + offset, '\n'));
  const std::size_t before = offset == 0 ? std::string_view::npos : all.rfind('\n', offset - 1);
  const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  place.column = offset - start + 1;
  const std::size_t end = std::min(all.find('\n', start), all.size());
  place.words = all.substr(start, end - start);
  if (place.words.ends_with('\r')) place.words.remove_suffix(1);
  return place;
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::error) ++errors_;
  // The same mistake in every PE is one mistake.
  for (const Diagnostic& known : all_) {
    if (known.at.file == diagnostic.at.file && known.at.offset == diagnostic.at.offset &&
        known.message == diagnostic.message)
      return;
  }
  if (all_.size() < kMost) all_.push_back(std::move(diagnostic));
}

void Diagnostics::error(Position at, std::string message, std::string way_out) {
  add({Severity::error, at, std::move(message), std::move(way_out)});
}
void Diagnostics::warning(Position at, std::string message, std::string way_out) {
  add({Severity::warning, at, std::move(message), std::move(way_out)});
}
void Diagnostics::note(Position at, std::string message) {
  add({Severity::note, at, std::move(message), {}});
}

std::string rendered(const Sources& sources, const Diagnostic& diagnostic) {
  static constexpr const char* kNames[] = {"error", "warning", "note"};
  const Sources::Place place = sources.place(diagnostic.at);
  std::string out;
  if (!place.path.empty()) {
    out += place.path;
    out += ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
  }
  out += kNames[static_cast<int>(diagnostic.severity)];
  out += ": " + diagnostic.message + "\n";
  if (!place.path.empty()) {
    // Long lines are cut around the caret; tabs and control bytes are shown as spaces.
    constexpr std::size_t kWidth = 100;
    const std::size_t from = place.column > kWidth ? place.column - kWidth / 2 : 0;
    std::string words(place.words.substr(std::min(from, place.words.size()), kWidth));
    for (char& c : words) {
      if (static_cast<unsigned char>(c) < 32 || c == 127) c = ' ';
    }
    out += "  " + words + "\n  " + std::string(place.column - 1 - from, ' ') + "^\n";
  }
  if (!diagnostic.way_out.empty()) out += "  " + diagnostic.way_out + "\n";
  return out;
}

}  // namespace tensorpress::csl
