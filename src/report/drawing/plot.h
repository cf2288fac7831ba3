// Line and scatter plots as inline SVG for an HtmlDocument (page_style.h has their colours).
// Series differ by colour, marker and dash, so that no reader depends on colour alone; every point
// tells its numbers when the pointer rests on it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tensorpress::report {

struct Axis {
  std::string label;  // with its unit: "bits per value"
  bool logarithmic = false;
};

struct Point {
  double x = 0;
  double y = 0;
  std::string label = {};  // printed beside the point; mostly empty
  std::string note = {};   // shown when the pointer rests on the point; coordinates when empty
};

struct Series {
  std::string name;
  std::vector<Point> points = {};
  bool line = true;  // false: markers only
  /// Colour, marker and dash; the place in the plot when absent. For series that come back in
  /// several plots, some of them without points.
  std::optional<std::size_t> look = {};
};

struct Plot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Series> series;
};

/// Points that an axis cannot show (not finite, or not positive on a logarithmic one) are left
/// out, and so is a series without any other. A plot without any point says so.
std::string plot_svg(const Plot& plot);

}  // namespace tensorpress::report
