#include "report/drawing/plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/drawing/html.h"
#include "report/drawing/svg.h"
#include "report/drawing/ticks.h"

namespace tensorpress::report {
namespace {

using svg::at;
using svg::line;
using svg::series_color;
using svg::words;

// All lengths are in the units of the viewBox, which are about pixels: a plot is 350 to 550 pixels
// wide on the page, so text of 14 units stays readable on a telephone.
constexpr double kWidth = 560;
constexpr double kLeft = 76;  // room for "0.0002" beside the name of the axis
constexpr double kRight = kWidth - 16;
constexpr double kTop = 36;
constexpr double kBottom = 316;
constexpr double kLegendTop = 380;
constexpr double kLegendRow = 22;
constexpr double kLetter = 8.0;  // mean width of a letter at 14 units
constexpr std::array<const char*, 4> kDashes = {"", "8 4", "2 4", "10 4 2 4"};

/// One axis: from values to places in the picture.
struct Mapping {
  bool logarithmic = false;
  double low = 0;  // of the value, or of its logarithm
  double high = 1;
  double from = 0;  // place of low
  double to = 1;

  bool shows(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }
  double transformed(double value) const { return logarithmic ? std::log10(value) : value; }
  double place(double value) const {
    return from + (transformed(value) - low) / (high - low) * (to - from);
  }
  std::vector<double> ticks(int wanted) const {
    return logarithmic ? log_ticks(std::pow(10, low), std::pow(10, high), wanted + 3)
                       : linear_ticks(low, high, wanted);
  }
};

/// Fits the axis to the values with a little air at both ends.
Mapping fit(const Axis& axis, const std::vector<double>& values, double from, double to) {
  Mapping mapping{.logarithmic = axis.logarithmic, .from = from, .to = to};
  const auto [low, high] = std::ranges::minmax(values);
  mapping.low = mapping.transformed(low);
  mapping.high = mapping.transformed(high);
  const double range = mapping.high - mapping.low;
  const double air = range > 0 ? 0.06 * range : std::max(1e-9, 0.1 * std::abs(mapping.high));
  mapping.low -= air;
  mapping.high += air;
  return mapping;
}

/// A shape around (x, y), one of four; a halo in the colour of the paper keeps crossings readable.
std::string marker(std::size_t series, double x, double y, std::string_view note) {
  const std::string style =
      text(" style=\"fill:", series_color(series), ";stroke:var(--paper);stroke-width:1\">");
  const std::string end = note.empty() ? "" : text("<title>", escape(note), "</title>");
  const auto polygon = [&](std::initializer_list<std::array<double, 2>> corners) {
    std::string points;
    for (const auto& corner : corners) {
      points += text(points.empty() ? "" : " ", at(x + corner[0]), ",", at(y + corner[1]));
    }
    return text("<polygon points=\"", points, "\"", style, end, "</polygon>\n");
  };
  switch (series % 4) {
    case 1:
      return polygon({{-4.5, -4.5}, {4.5, -4.5}, {4.5, 4.5}, {-4.5, 4.5}});
    case 2:
      return polygon({{0, -6}, {5.6, 4.4}, {-5.6, 4.4}});
    case 3:
      return polygon({{0, -6.4}, {6.4, 0}, {0, 6.4}, {-6.4, 0}});
    default:
      return text("<circle cx=\"", at(x), "\" cy=\"", at(y), "\" r=\"5\"", style, end,
                  "</circle>\n");
  }
}

std::string stroke(std::size_t series) {
  const char* dash = kDashes[series % kDashes.size()];
  return text("style=\"fill:none;stroke:", series_color(series), ";stroke-width:2\"",
              *dash == 0 ? "" : text(" stroke-dasharray=\"", dash, "\""));
}

std::string axes(const Plot& plot, const Mapping& x, const Mapping& y) {
  std::string out;
  for (const double tick : x.ticks(6)) {
    out += line("grid", x.place(tick), kTop, x.place(tick), kBottom);
    out += words(x.place(tick), kBottom + 18, "middle", "class=\"soft\" font-size=\"13\"",
                 tick_label(tick));
  }
  for (const double tick : y.ticks(6)) {
    out += line("grid", kLeft, y.place(tick), kRight, y.place(tick));
    out += words(kLeft - 7, y.place(tick) + 4.5, "end", "class=\"soft\" font-size=\"13\"",
                 tick_label(tick));
  }
  out += line("axis", kLeft, kBottom, kRight, kBottom);
  out += line("axis", kLeft, kTop, kLeft, kBottom);
  out += words((kLeft + kRight) / 2, kBottom + 40, "middle", "font-size=\"14\"", plot.x.label);
  const double middle = (kTop + kBottom) / 2;
  out +=
      words(15, middle, "middle",
            text("font-size=\"14\" transform=\"rotate(-90 15 ", at(middle), ")\""), plot.y.label);
  return out;
}

std::string drawn(const Series& series, const Plot& plot, const Mapping& x, const Mapping& y) {
  const std::size_t look = series.look.value_or(0);
  std::string path;
  std::string markers;
  for (const Point& point : series.points) {
    if (!x.shows(point.x) || !y.shows(point.y)) continue;
    const double px = x.place(point.x);
    const double py = y.place(point.y);
    path += text(path.empty() ? "" : " ", at(px), ",", at(py));
    const std::string note = !point.note.empty()
                                 ? point.note
                                 : text(series.name, ": ", plot.x.label, " ", rounded(point.x),
                                        ", ", plot.y.label, " ", rounded(point.y));
    markers += marker(look, px, py, note);
    if (!point.label.empty()) {
      markers += words(px + 6, py + 15, "start", "class=\"soft\" font-size=\"12\"", point.label);
    }
  }
  const std::string polyline = series.line && !path.empty()
                                   ? text("<polyline points=\"", path, "\" ", stroke(look), " />\n")
                                   : "";
  return polyline + markers;
}

struct Legend {
  std::string svg;
  double bottom = kLegendTop;
};

/// In rows below the plot; a single series needs none.
Legend legend(const std::vector<Series>& series) {
  Legend legend;
  if (series.size() < 2) {
    legend.bottom = kBottom + 48;
    return legend;
  }
  double x = kLeft;
  double y = kLegendTop;
  for (const Series& each : series) {
    const double width = 50 + kLetter * static_cast<double>(each.name.size());
    if (x > kLeft && x + width > kRight) {
      x = kLeft;
      y += kLegendRow;
    }
    const std::size_t look = each.look.value_or(0);
    if (each.line) {
      legend.svg += text("<polyline points=\"", at(x), ",", at(y - 5), " ", at(x + 28), ",",
                         at(y - 5), "\" ", stroke(look), " />\n");
    }
    legend.svg += marker(look, x + 14, y - 5, "");
    legend.svg += words(x + 34, y, "start", "font-size=\"14\"", each.name);
    x += width;
  }
  legend.bottom = y + 10;
  return legend;
}

}  // namespace

std::string plot_svg(const Plot& plot) {
  const Mapping any_x{.logarithmic = plot.x.logarithmic};
  const Mapping any_y{.logarithmic = plot.y.logarithmic};
  std::vector<double> xs;
  std::vector<double> ys;
  std::vector<Series> shown;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const std::size_t before = xs.size();
    for (const Point& point : plot.series[i].points) {
      if (!any_x.shows(point.x) || !any_y.shows(point.y)) continue;
      xs.push_back(point.x);
      ys.push_back(point.y);
    }
    if (xs.size() == before) continue;
    shown.push_back(plot.series[i]);
    if (!shown.back().look) shown.back().look = i;
  }
  const Legend names = legend(shown);
  std::string out = text("<svg viewBox=\"0 0 ", kWidth, " ", at(names.bottom),
                         "\" role=\"img\" aria-label=\"", escape(plot.title), "\">\n");
  out += words(kLeft, 18, "start", "font-size=\"15\" font-weight=\"600\"", plot.title);
  if (xs.empty()) {
    out += words((kLeft + kRight) / 2, (kTop + kBottom) / 2, "middle", "font-size=\"14\"",
                 "no data to draw");
    return out + "</svg>\n";
  }
  const Mapping x = fit(plot.x, xs, kLeft, kRight);
  const Mapping y = fit(plot.y, ys, kBottom, kTop);
  out += axes(plot, x, y);
  for (const Series& series : shown) out += drawn(series, plot, x, y);
  return out + names.svg + "</svg>\n";
}

}  // namespace tensorpress::report
