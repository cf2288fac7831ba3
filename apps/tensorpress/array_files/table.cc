#include "table.h"

#include <algorithm>

#include "base/text.h"

namespace tensorpress::cli {
namespace {

using Cells = std::vector<std::string>;

constexpr std::size_t kNames = 3;  // columns of words, to the left

Cells cells_of(const TableRow& row, bool stored) {
  std::string shape;
  for (const auto extent : row.extents) shape += text(shape.empty() ? "" : "x", extent);
  const bool known = row.bytes_out > 0;
  Cells cells = {row.variable, row.type, shape.empty() && !row.type.empty() ? "scalar" : shape,
                 human_bytes(row.bytes_in)};
  if (stored) cells.push_back(row.stored > 0 ? human_bytes(row.stored) : "-");
  cells.push_back(known ? human_bytes(row.bytes_out) : "-");
  cells.push_back(
      known ? rounded(static_cast<double>(row.bytes_in) / static_cast<double>(row.bytes_out), 3)
            : "-");
  cells.push_back(row.remark);
  return cells;
}

}  // namespace

std::string table_of(const std::vector<TableRow>& rows) {
  const bool stored = std::ranges::any_of(rows, [](const TableRow& row) { return row.stored > 0; });
  std::vector<Cells> lines = {{"variable", "type", "shape", "bytes in"}};
  if (stored) lines.front().emplace_back("stored");
  for (const char* const name : {"out", "ratio", ""}) lines.front().emplace_back(name);
  TableRow sum{.variable = "all"};
  for (const TableRow& row : rows) {
    lines.push_back(cells_of(row, stored));
    sum.bytes_in += row.bytes_in;
    sum.stored += row.stored;
    sum.bytes_out += row.bytes_out;
  }
  if (rows.size() > 1) lines.push_back(cells_of(sum, stored));
  std::vector<std::size_t> widths(lines.front().size());
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const Cells& line : lines) {
    std::string padded;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string gap(widths[i] - line[i].size(), ' ');
      // Names to the left, numbers to the right.
      padded +=
          i < kNames || i + 1 == line.size() ? text(line[i], gap, "  ") : text(gap, line[i], "  ");
    }
    padded.erase(padded.find_last_not_of(' ') + 1);
    std::ranges::replace_if(
        padded, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
    out += padded + "\n";
  }
  return out;
}

}  // namespace tensorpress::cli
