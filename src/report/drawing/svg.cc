#include "report/drawing/svg.h"

#include "base/text.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"

namespace tensorpress::report::svg {
namespace {

constexpr std::size_t kSeriesColors = 7;

}  // namespace

std::string at(double place) {
  return fixed(place, 1);
}

std::string line(const char* style, double x1, double y1, double x2, double y2) {
  return text("<line class=\"", style, "\" x1=\"", at(x1), "\" y1=\"", at(y1), "\" x2=\"", at(x2),
              "\" y2=\"", at(y2), "\" />\n");
}

std::string words(double x, double y, const char* anchor, std::string_view attributes,
                  std::string_view content) {
  return text("<text x=\"", at(x), "\" y=\"", at(y), "\" text-anchor=\"", anchor, "\" ", attributes,
              ">", escape(content), "</text>\n");
}

std::string series_color(std::size_t series) {
  return text("var(--series-", series % kSeriesColors, ")");
}

}  // namespace tensorpress::report::svg
