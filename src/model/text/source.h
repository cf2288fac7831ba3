// A model's text and where things stand in it, so that every mistake is shown as a compiler would:
//
//   resnet.tpm:12:7: there is no operator 'con2d'; did you mean conv2d?
//     12 | h = con2d(x, 64)
//        |     ^
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::model {

/// Line and column count from 1; a place of line 0 is nowhere in particular.
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

class SourceText {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  SourceText(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::size_t line_count() const { return lines_.size(); }
  /// Without its line break; lines count from 1.
  std::string_view line(std::uint32_t number) const;

  /// The sentence with file, line, column, the line itself and a caret under the column.
  Error error_at(Place place, std::string_view sentence) const;

 private:
  struct Line {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  std::string name_;
  std::string text_;
  std::vector<Line> lines_;
};

}  // namespace tensorpress::model
