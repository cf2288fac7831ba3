// Source files of a CSL program and what is wrong with them. A position is a file and an offset, so
// that every later stage can point at a line; nothing else keeps line numbers.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::csl {

struct Position {
  std::uint32_t file = 0;
  std::uint32_t offset = 0;
};

/// The texts stay where they are while the set lives: names in trees are views of them.
class Sources {
 public:
  std::uint32_t add(std::string path, std::string text);
  std::string_view text(std::uint32_t file) const { return files_[file].text; }
  const std::string& path(std::uint32_t file) const { return files_[file].path; }

  struct Place {
    std::string_view path;
    std::size_t line = 1;    // from 1
    std::size_t column = 1;  // from 1, in bytes
    std::string_view words;  // the line, without its end
  };
  Place place(Position position) const;

 private:
  struct File {
    std::string path, text;
  };
  std::deque<File> files_;
};

enum class Severity : std::uint8_t { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  Position at;
  std::string message;
  std::string way_out;  // what to do about it; may be empty
};

/// Collects what is wrong. Stops to keep after `kMost`, so that one mistake in a loop over a
/// million PEs stays readable; `errors()` counts on.
class Diagnostics {
 public:
  static constexpr std::size_t kMost = 100;
  void error(Position at, std::string message, std::string way_out = {});
  void warning(Position at, std::string message, std::string way_out = {});
  void note(Position at, std::string message);
  bool failed() const { return errors_ > 0; }
  std::size_t errors() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  void add(Diagnostic diagnostic);
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
};

/// path:line:column: error: message, the line, a caret, and the way out.
std::string rendered(const Sources& sources, const Diagnostic& diagnostic);

}  // namespace tensorpress::csl
