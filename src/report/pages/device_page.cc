#include "report/pages/device_page.h"

#include "base/columns.h"
#include "base/text.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"

namespace tensorpress::report {
namespace {

using devices::Sweep;
using devices::SweepAxis;
using devices::SweepPoint;
using devices::SweepSeries;

const char* axis_label(SweepAxis axis) {
  switch (axis) {
    case SweepAxis::resolution:
      return "rows and columns of a plane";
    case SweepAxis::batch:
      return "samples in a batch";
    case SweepAxis::cf:
      return "chop factor CF";
    case SweepAxis::serialize:
      return "serialization s";
  }
  return "";
}

/// Milliseconds or GB/s, whatever the figure shows.
double shown(const Sweep& sweep, const SweepPoint& point) {
  return sweep.throughput ? point.time->bytes_per_second() / 1e9 : 1e3 * point.time->total;
}
const char* shown_label(const Sweep& sweep) {
  return sweep.throughput ? "GB/s of uncompressed data" : "milliseconds";
}

Table table_of(const Sweep& sweep) {
  Table table;
  table.caption = text(sweep.title, ", ", shown_label(sweep));
  table.columns.push_back({axis_label(sweep.axis)});
  for (const SweepSeries& series : sweep.series) table.columns.push_back({series.name});
  for (std::size_t i = 0; i < sweep.series.front().points.size(); ++i) {
    std::vector<std::string> row = {rounded(sweep.series.front().points[i].x, 9)};
    for (const SweepSeries& series : sweep.series) {
      const SweepPoint& point = series.points[i];
      row.push_back(point.time ? rounded(shown(sweep, point), 4) : "-");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Plot sweep_plot(const Sweep& sweep) {
  Plot plot;
  plot.title = sweep.title;
  plot.x = {.label = axis_label(sweep.axis), .logarithmic = sweep.axis != SweepAxis::cf};
  plot.y = {.label = shown_label(sweep), .logarithmic = !sweep.throughput};
  for (std::size_t i = 0; i < sweep.series.size(); ++i) {
    Series series{.name = sweep.series[i].name, .look = i};
    for (const SweepPoint& point : sweep.series[i].points) {
      if (!point.time) continue;
      series.points.push_back(
          {.x = point.x,
           .y = shown(sweep, point),
           .note = text(devices::name_of(point.task), ": ", rounded(1e3 * point.time->total, 4),
                        " ms, ", rounded(point.time->bytes_per_second() / 1e9, 4), " GB/s")});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string sweeps_html(const std::string& title, const std::vector<Sweep>& sweeps) {
  HtmlDocument page(title);
  page.paragraph(
      "Predicted, not measured: times of DCT+Chop with transfers between host and device, in the "
      "form of the figures of the paper. Where a line ends early, the program does not compile "
      "there; the reasons stand below the tables.");
  std::vector<std::string> plots;
  for (const Sweep& sweep : sweeps)
    plots.push_back(figure(plot_svg(sweep_plot(sweep)), sweep.title));
  page.add(side_by_side(plots, 420));
  for (const Sweep& sweep : sweeps) {
    page.add(html_of(table_of(sweep)));
    std::string last;
    for (const SweepSeries& series : sweep.series) {
      for (const SweepPoint& point : series.points) {
        if (point.time || point.reason == last) continue;
        last = point.reason;
        page.paragraph(text(sweep.device, ", ", devices::name_of(point.task), ": ", last));
      }
    }
  }
  return page.html();
}

std::string sweep_text(const Sweep& sweep) {
  constexpr std::size_t kWidth = 17;
  const Table table = table_of(sweep);
  std::string lines = text(table.caption, '\n',
                           at_right(sweep.axis == SweepAxis::resolution ? "n x n"
                                    : sweep.axis == SweepAxis::batch    ? "batch"
                                    : sweep.axis == SweepAxis::cf       ? "CF"
                                                                        : "s",
                                    8));
  for (const SweepSeries& series : sweep.series) lines += at_right(series.name, kWidth);
  lines += '\n';
  for (const auto& row : table.rows) {
    lines += at_right(row.front(), 8);
    for (std::size_t i = 1; i < row.size(); ++i) lines += at_right(row[i], kWidth);
    lines += '\n';
  }
  return lines;
}

}  // namespace tensorpress::report
