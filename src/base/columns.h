// Words in the columns of a table for a terminal. What is too wide stays whole.
#pragma once

#include <string>
#include <string_view>

namespace tensorpress {

inline std::string at_left(std::string_view words, std::size_t width) {
  std::string cell(words);
  if (cell.size() < width) cell.append(width - cell.size(), ' ');
  return cell;
}

inline std::string at_right(std::string_view words, std::size_t width) {
  std::string cell(words.size() < width ? width - words.size() : 0, ' ');
  return cell.append(words);
}

}  // namespace tensorpress
