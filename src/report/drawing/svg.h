// The pieces that drawings have in common, in the units of their viewBox.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tensorpress::report::svg {

/// A place as it is written: a tenth of a unit is enough.
std::string at(double place);
/// `style` is a class of page.css: "grid" or "axis".
std::string line(const char* style, double x1, double y1, double x2, double y2);
/// `anchor` is "start", "middle" or "end"; `attributes` are markup, `content` is any text.
std::string words(double x, double y, const char* anchor, std::string_view attributes,
                  std::string_view content);
/// Of page.css, which has seven; then they come again.
std::string series_color(std::size_t series);

}  // namespace tensorpress::report::svg
