#include "report/drawing/heatmap.h"

#include "base/text.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"

namespace tensorpress::report {
namespace {

constexpr std::size_t kCell = 30;  // units of the viewBox
constexpr std::size_t kTitle = 26;
constexpr std::size_t kEdge = 2;  // room for an outline at the border

std::string cell(const Heatmap& heatmap, std::size_t row, std::size_t column) {
  const std::size_t index = row * heatmap.columns + column;
  const double position = (heatmap.values[index] - heatmap.low) / (heatmap.high - heatmap.low);
  const Rgb color = color_at(heatmap.map, position);
  const std::size_t x = kEdge + column * kCell;
  const std::size_t y = kTitle + kEdge + row * kCell;
  std::string out =
      text("<g><rect shape-rendering=\"crispEdges\" x=\"", x, "\" y=\"", y, "\" width=\"", kCell,
           "\" height=\"", kCell, "\" style=\"fill:", css(color), "\" />");
  if (index < heatmap.labels.size()) {
    out += text("<text x=\"", x + kCell / 2, "\" y=\"", y + kCell / 2 + 4,
                "\" text-anchor=\"middle\" font-size=\"12\" style=\"fill:",
                luminance(color) > 0.18 ? "#000000" : "#ffffff", "\">",
                escape(heatmap.labels[index]), "</text>");
  }
  if (index < heatmap.notes.size()) {
    out += text("<title>", escape(heatmap.notes[index]), "</title>");
  }
  return out + "</g>\n";
}

/// A step line along the right and lower edge of the enclosed cells, white on black so that it
/// shows on every colour.
std::string outline_svg(const Outline& outline) {
  std::string path = text("M", kEdge, " ", kTitle + kEdge);
  std::size_t bottom = kTitle + kEdge;
  for (const std::size_t width : outline.widths) {
    path += text("H", kEdge + width * kCell, "V", bottom += kCell);
  }
  path += text("H", kEdge, "Z");
  const char* dash = outline.dashed ? " stroke-dasharray=\"5 4\"" : "";
  return text("<path d=\"", path, "\" style=\"fill:none;stroke:#000000;stroke-width:4\" />\n",
              "<path d=\"", path, "\" style=\"fill:none;stroke:#ffffff;stroke-width:2\"", dash,
              " />\n");
}

}  // namespace

std::string heatmap_svg(const Heatmap& heatmap) {
  std::string out = text("<svg viewBox=\"0 0 ", heatmap.columns * kCell + 2 * kEdge, " ",
                         kTitle + heatmap.rows * kCell + 2 * kEdge, "\" role=\"img\" aria-label=\"",
                         escape(heatmap.title), "\">\n");
  out += text("<text x=\"", kEdge, "\" y=\"16\" font-size=\"15\" font-weight=\"600\">",
              escape(heatmap.title), "</text>\n");
  for (std::size_t row = 0; row < heatmap.rows; ++row) {
    for (std::size_t column = 0; column < heatmap.columns; ++column) {
      out += cell(heatmap, row, column);
    }
  }
  for (const Outline& outline : heatmap.outlines) out += outline_svg(outline);
  return out + "</svg>\n";
}

std::string color_bar_svg(ColorMap map, const std::string& low, const std::string& high) {
  constexpr std::size_t kSteps = 64;
  std::string out = text(
      "<svg viewBox=\"0 0 320 40\" style=\"max-width:320px\" role=\"img\" "
      "aria-label=\"colours from ",
      escape(low), " to ", escape(high), "\">\n");
  for (std::size_t i = 0; i < kSteps; ++i) {
    // A little wider than the step, so that no seams show between them.
    out += text("<rect x=\"", 5 * i, "\" y=\"0\" width=\"", i + 1 < kSteps ? 6 : 5,
                "\" height=\"14\" style=\"fill:",
                css(color_at(map, static_cast<double>(i) / (kSteps - 1))), "\" />");
  }
  out += text("\n<text x=\"0\" y=\"32\" font-size=\"14\" class=\"soft\">", escape(low),
              "</text>\n<text x=\"320\" y=\"32\" font-size=\"14\" class=\"soft\" "
              "text-anchor=\"end\">",
              escape(high), "</text>\n</svg>\n");
  return out;
}

}  // namespace tensorpress::report
