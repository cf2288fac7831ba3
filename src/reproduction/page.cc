#include "reproduction/page.h"

#include "base/text.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"
#include "report/drawing/plot.h"

namespace tensorpress::report {
namespace {

constexpr RowLabel kLabels[] = {RowLabel::measured, RowLabel::calibrated, RowLabel::predicted};

std::string error_text(const ReproductionRow& row) {
  const auto error = relative_error(row);
  if (!error) return "-";
  if (row.published_to && *error == 0) return "inside";
  return text(*error < 0 ? "" : "+", fixed(100 * *error, 1), " %");
}

std::vector<std::string> cells(const ReproductionRow& row) {
  return {row.unit.empty() ? row.what : text(row.what, ", ", row.unit),
          published_text(row),
          row.ours ? rounded(*row.ours, 4) : "-",
          error_text(row),
          std::string(name_of(row.label)),
          row.note};
}

/// Ours over published, a point a row: on the diagonal they agree.
Plot agreement(const ReproductionTable& table) {
  Plot plot{.title = "Ours over published",  // the heading names the source
            .x = {.label = "published", .logarithmic = true},
            .y = {.label = "ours", .logarithmic = true},
            .series = {}};
  double least = 1e300, most = 0;
  for (const RowLabel label : kLabels) {
    Series series{.name = std::string(name_of(label)), .line = false};
    for (const ReproductionRow& row : table.rows) {
      if (row.label != label || !row.published || !row.ours || *row.published <= 0) continue;
      series.points.push_back({.x = *row.published, .y = *row.ours, .note = row.what});
      least = std::min(least, *row.published);
      most = std::max(most, *row.published);
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  if (most > 0) {
    plot.series.push_back(
        {.name = "equal", .points = {{.x = least, .y = least}, {.x = most, .y = most}}});
  }
  return plot;
}

std::string escaped_cell(const std::string& cell) {
  std::string out;
  for (const char c : cell) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string reproductions_html(const std::vector<ReproductionTable>& tables) {
  HtmlDocument page("Published numbers, recomputed");
  page.paragraph(
      "Measured: by running the code. Calibrated: by a model with a constant that was fitted on "
      "this number. Predicted: by a model that was not fitted on this number.");
  for (const ReproductionTable& table : tables) {
    Table rows{.caption = table.source,
               .columns = {{"what", "", false},
                           {"published"},
                           {"ours"},
                           {"error"},
                           {"label", "", false},
                           {"note", "", false}},
               .rows = {},
               .group_starts = {}};
    for (const ReproductionRow& row : table.rows) rows.rows.push_back(cells(row));
    page.heading(2, table.source);
    const std::string plot = figure(plot_svg(agreement(table)),
                                    "Our number against the published one; on the line they agree");
    page.add(text("<div style=\"max-width:34rem\">", plot, "</div>"));
    page.add(html_of(rows));
    for (const std::string& remark : table.remarks) page.paragraph(remark);
  }
  return page.html();
}

std::string reproductions_markdown(const std::vector<ReproductionTable>& tables,
                                   const std::string& command) {
  std::string lines = text(
      "# Published numbers, recomputed\n\n`", command,
      "` prints this page. *Measured* numbers come from running the code, *calibrated* ones from a "
      "model with a constant that was fitted on this number, and *predicted* ones from a model "
      "that was not fitted on it. `inside` means inside the published range.\n");
  for (const ReproductionTable& table : tables) {
    lines +=
        text("\n## ", table.source,
             "\n\n| what | published | ours | error | label | note |\n|---|---|---|---|---|---|\n");
    for (const ReproductionRow& row : table.rows) {
      for (const std::string& cell : cells(row)) lines += text("| ", escaped_cell(cell), ' ');
      lines += "|\n";
    }
    for (const std::string& remark : table.remarks) lines += text('\n', remark, '\n');
    for (const std::string& sentence : error_sentences(table)) lines += text('\n', sentence, ".\n");
  }
  return lines;
}

}  // namespace tensorpress::report
