#include "reproduction/page.h"

#include "base/text.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"
#include "report/drawing/plot.h"

namespace tensorpress::report {
namespace {

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
          std::string(name_of(row.basis.label)),
          rests_on_text(row.basis),
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
      if (row.basis.label != label || !row.published || !row.ours || *row.published <= 0) continue;
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

std::string meanings() {
  std::string sentences =
      "A label follows from the constants behind a number: those that move it when they are halved "
      "or doubled. ";
  for (const RowLabel label : kLabels) {
    std::string name(name_of(label));
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
    sentences += text(name, ": ", meaning_of(label), ". ");
  }
  return sentences;
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
  page.paragraph(text(meanings(), count_sentence(tables), "."));
  for (const ReproductionTable& table : tables) {
    Table rows{.caption = table.source,
               .columns = {{"what", "", false},
                           {"published"},
                           {"ours"},
                           {"error"},
                           {"label", "", false},
                           {"rests on", "", false},
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
  std::string lines =
      text("# Published numbers, recomputed\n\n`", command, "` prints this page. ", meanings(),
           count_sentence(tables), ". `inside` means inside the published range.\n");
  for (const ReproductionTable& table : tables) {
    lines += text("\n## ", table.source,
                  "\n\n| what | published | ours | error | label | rests on | note |\n"
                  "|---|---|---|---|---|---|---|\n");
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
