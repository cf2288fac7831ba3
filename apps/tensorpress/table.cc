#include "table.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tensorpress::cli {
namespace {

using Cells = std::array<std::string, 7>;

Cells cells_of(const TableRow& row) {
  std::string shape;
  for (const auto extent : row.extents) shape += text(shape.empty() ? "" : "x", extent);
  const bool known = row.bytes_out > 0;
  return {row.variable,
          row.type,
          shape.empty() && !row.type.empty() ? "scalar" : shape,
          human_bytes(row.bytes_in),
          known ? human_bytes(row.bytes_out) : "-",
          known ? rounded(static_cast<double>(row.bytes_in) / static_cast<double>(row.bytes_out), 3)
                : "-",
          row.remark};
}

}  // namespace

std::string table_of(const std::vector<TableRow>& rows) {
  std::vector<Cells> lines = {{"variable", "type", "shape", "bytes in", "out", "ratio", ""}};
  TableRow sum{.variable = "all"};
  for (const TableRow& row : rows) {
    lines.push_back(cells_of(row));
    sum.bytes_in += row.bytes_in;
    sum.bytes_out += row.bytes_out;
  }
  if (rows.size() > 1) lines.push_back(cells_of(sum));
  std::array<std::size_t, std::tuple_size_v<Cells>> widths{};
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (const Cells& line : lines) {
    std::string padded;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string gap(widths[i] - line[i].size(), ' ');
      // Names to the left, numbers to the right.
      padded += i < 3 || i == 6 ? text(line[i], gap, "  ") : text(gap, line[i], "  ");
    }
    padded.erase(padded.find_last_not_of(' ') + 1);
    std::ranges::replace_if(
        padded, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
    out += padded + "\n";
  }
  return out;
}

}  // namespace tensorpress::cli
