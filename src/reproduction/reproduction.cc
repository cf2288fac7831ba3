#include "reproduction/reproduction.h"

#include <algorithm>
#include <cmath>

#include "base/columns.h"
#include "base/errors.h"
#include "report/drawing/numbers.h"

namespace tensorpress::report {

Reproduction ceresz2_reproduction(), chop_reproduction(), table4_reproduction(),
    training_reproduction();

std::vector<Reproduction> reproductions() {
  return {ceresz2_reproduction(), table4_reproduction(), chop_reproduction(),
          training_reproduction()};
}

namespace {

std::string number(const std::optional<double>& value) {
  if (!value) return "-";
  const bool whole = *value == std::floor(*value) && std::abs(*value) < 1e9;
  return fixed(*value, whole ? 0 : 2);
}

std::string signed_percent(double share) {
  return text(share < 0 ? "" : "+", fixed(100 * share, 2), " %");
}

}  // namespace

std::string published_text(const ReproductionRow& row) {
  if (!row.published_to) return number(row.published);
  if (std::isinf(*row.published_to)) return text("over ", number(row.published));
  if (row.published == 0.0) return text("up to ", number(row.published_to));
  return text(number(row.published), "-", number(row.published_to));
}

std::optional<double> relative_error(const ReproductionRow& row) {
  if (!row.published || !row.ours) return std::nullopt;
  double nearest = *row.published;
  if (row.published_to) nearest = std::clamp(*row.ours, *row.published, *row.published_to);
  if (nearest == *row.ours && row.published_to) return 0;
  if (nearest == 0) return std::nullopt;
  return (*row.ours - nearest) / std::abs(nearest);
}

std::optional<ErrorSummary> summarize(const ReproductionTable& table, RowLabel label) {
  ErrorSummary summary;
  for (const ReproductionRow& row : table.rows) {
    const auto error = relative_error(row);
    if (row.basis.label != label || !error) continue;
    ++summary.rows;
    summary.largest = std::max(summary.largest, std::abs(*error));
    summary.mean += std::abs(*error);
  }
  if (summary.rows == 0) return std::nullopt;
  summary.mean /= static_cast<double>(summary.rows);
  return summary;
}

std::vector<std::string> error_sentences(const ReproductionTable& table) {
  std::vector<std::string> sentences;
  for (const RowLabel label : kLabels) {
    if (const auto summary = summarize(table, label)) {
      sentences.push_back(text("Error of the ", summary->rows, ' ', name_of(label), ": at most ",
                               fixed(100 * summary->largest, 2), " %, ",
                               fixed(100 * summary->mean, 2), " % on average"));
    }
  }
  return sentences;
}

std::string count_sentence(const std::vector<ReproductionTable>& tables) {
  std::array<std::size_t, kLabels.size()> counts = {};
  std::size_t rows = 0;
  for (const ReproductionTable& table : tables) {
    rows += table.rows.size();
    for (const ReproductionRow& row : table.rows) {
      ++counts[static_cast<std::size_t>(row.basis.label)];
    }
  }
  std::string sentence = text(rows, rows == 1 ? " row: " : " rows: ");
  const char* separator = "";
  for (const RowLabel label : kLabels) {
    const std::size_t count = counts[static_cast<std::size_t>(label)];
    if (count == 0) continue;
    sentence += text(separator, count, ' ', name_of(label));
    separator = ", ";
  }
  return sentence;
}

Result<Reproduction> find_reproduction(std::string_view name) {
  std::string names;
  for (const Reproduction& each : reproductions()) {
    if (each.name == name) return each;
    names += text(names.empty() ? "" : ", ", each.name);
  }
  return bad_argument("'", name, "' is not a reproduction; choose from ", names);
}

std::string table_text(const ReproductionTable& table) {
  std::size_t width = 4;
  for (const ReproductionRow& row : table.rows) {
    width = std::max(width, row.what.size() + (row.unit.empty() ? 0 : row.unit.size() + 2));
  }
  std::string lines =
      text(table.source, '\n', at_left("", width), "   published        here      error  label\n");
  for (const ReproductionRow& row : table.rows) {
    const std::string what = row.unit.empty() ? row.what : text(row.what, ", ", row.unit);
    const auto error = relative_error(row);
    lines += text(at_left(what, width), ' ', at_right(published_text(row), 11), ' ',
                  at_right(number(row.ours), 11), ' ',
                  at_right(error ? signed_percent(*error) : "-", 10), "  ",
                  name_of(row.basis.label), '\n');
    if (!row.note.empty()) lines += text("    ", row.note, '\n');
    if (!row.basis.rests_on.empty()) {
      lines += text("    rests on ", rests_on_text(row.basis), '\n');
    }
    if (!row.command.empty()) lines += text("    $ ", row.command, '\n');
  }
  for (const std::string& remark : table.remarks) lines += text(remark, '\n');
  for (const std::string& sentence : error_sentences(table)) lines += text(sentence, '\n');
  return lines;
}

}  // namespace tensorpress::report
