// A small matrix as a heat map with its numbers printed in the cells, as inline SVG.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/drawing/color_map.h"

namespace tensorpress::report {

/// A line around the upper left cells: row r encloses its first `widths[r]` cells. A square of n is
/// n times n, a triangle is n, n-1, ..., 1.
struct Outline {
  std::vector<std::size_t> widths;
  bool dashed = false;
};

struct Heatmap {
  std::string title;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;            // row by row
  std::vector<std::string> labels = {};  // printed in the cells, row by row; empty: none
  std::vector<std::string> notes = {};   // shown when the pointer rests on a cell; empty: none
  double low = 0;                        // value of the map's first colour
  double high = 1;
  ColorMap map = ColorMap::sequential;
  std::vector<Outline> outlines = {};
};

std::string heatmap_svg(const Heatmap& heatmap);

/// A bar with the colours from low to high and the given words at its ends.
std::string color_bar_svg(ColorMap map, const std::string& low, const std::string& high);

}  // namespace tensorpress::report
