// Variables of a file and what became of them, one a line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorpress::cli {

struct TableRow {
  std::string variable;
  std::string type = {};
  std::vector<std::uint64_t> extents = {};
  std::uint64_t bytes_in = 0;
  std::uint64_t stored = 0;  // what they took in the old file; 0 where it is not told
  std::uint64_t bytes_out = 0;
  std::string remark = {};
};

/// With a heading and, if there are several rows, a sum. Where a row tells what was stored there is
/// a column for it. Control characters are replaced.
std::string table_of(const std::vector<TableRow>& rows);

}  // namespace tensorpress::cli
