#include <algorithm>

#include "base/errors.h"
#include "base/text.h"
#include "report/drawing/base64.h"
#include "report/drawing/heatmap.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"
#include "report/drawing/picture.h"
#include "report/pages/wafer_pictures.h"

namespace tensorpress::report {
namespace {

files::Image paint_heat(const PeHeat& heat, std::uint32_t high) {
  Plane plane{heat.height, heat.width, {}};
  for (const std::uint32_t cycles : heat.cycles) plane.values.push_back(static_cast<float>(cycles));
  return paint(plane, {.low = 0, .high = static_cast<double>(std::max(high, 1u))});
}

std::uint32_t largest(const PeHeat& heat) {
  return heat.cycles.empty() ? 0 : std::ranges::max(heat.cycles);
}

std::size_t busy_count(const PeHeat& heat) {
  return heat.cycles.size() - static_cast<std::size_t>(std::ranges::count(heat.cycles, 0u));
}

/// "ceresz2: 31,000 to 40,000 cycles; the slowest PE takes 1.2 times the mean", of those that work.
std::string figures_of(const PeHeat& heat) {
  double sum = 0;
  std::uint32_t low = largest(heat);
  for (const std::uint32_t cycles : heat.cycles) {
    sum += cycles;
    if (cycles > 0) low = std::min(low, cycles);
  }
  const auto busy = static_cast<double>(busy_count(heat));
  return text(heat.title, ": ", grouped(low), " to ", grouped(largest(heat)),
              " cycles; the slowest PE takes ",
              busy > 0 ? fixed(largest(heat) * busy / sum, 2) : std::string("-"),
              " times the mean");
}

/// PEs that a field leaves without a block: their 0 is no time that coding takes. Empty for none.
std::string idle_of(const PeHeat& heat) {
  const std::size_t idle = heat.cycles.size() - busy_count(heat);
  if (idle == 0) return "";
  return text(grouped(idle), idle == 1 ? " PE is" : " PEs are",
              " idle (0 cycles, dark): the field has no block left for ",
              idle == 1 ? "it" : "them");
}

std::string caption_of(const PeHeat& heat) {
  const std::string idle = idle_of(heat);
  return idle.empty() ? figures_of(heat) : text(figures_of(heat), "; ", idle);
}

// The numbers travel with the page; the script only reads the one under the pointer.
std::string numbers_of(const PeHeat& heat) {
  std::vector<std::uint8_t> bytes;
  for (const std::uint32_t cycles : heat.cycles) {
    for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(cycles >> (8 * i)));
  }
  return base64(bytes);
}

constexpr const char* kScript = R"js(<script>
for (const box of document.querySelectorAll('[data-cycles]')) {
  const bytes = Uint8Array.from(atob(box.dataset.cycles), c => c.charCodeAt(0));
  const cycles = new Uint32Array(bytes.buffer);
  const width = Number(box.dataset.width), height = Number(box.dataset.height);
  const picture = box.querySelector('img'), note = box.querySelector('output');
  picture.addEventListener('pointermove', event => {
    const place = picture.getBoundingClientRect();
    const x = Math.min(width - 1, Math.max(0, Math.floor((event.clientX - place.left) / place.width * width)));
    const y = Math.min(height - 1, Math.max(0, Math.floor((event.clientY - place.top) / place.height * height)));
    note.textContent = `PE (${x}, ${y}): ${cycles[y * width + x].toLocaleString()} cycles`;
  });
}
</script>
)js";

}  // namespace

Result<std::vector<std::uint8_t>> heat_png(const PeHeat& heat, std::uint32_t high) {
  return files::encode_png(paint_heat(heat, high == 0 ? largest(heat) : high));
}

Result<std::string> heat_svg(const PeHeat& heat) {
  TRY(const std::string uri, png_data_uri(paint_heat(heat, largest(heat))));
  constexpr int kLeft = 46, kTop = 48, kBar = 20;
  const double scale = 480.0 / std::max({heat.width, heat.height, 1u});
  const double width = heat.width * scale, height = heat.height * scale;
  std::string out =
      text("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width + 2 * kLeft + 60, ' ',
           height + kTop + 44, "\" font-family=\"sans-serif\" font-size=\"12\">\n",
           "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\" />\n<text x=\"", kLeft,
           "\" y=\"20\" font-size=\"14\">", escape(figures_of(heat)), "</text>\n<text x=\"", kLeft,
           "\" y=\"38\">", escape(idle_of(heat)), "</text>\n<image x=\"", kLeft, "\" y=\"", kTop,
           "\" width=\"", width, "\" height=\"", height,
           "\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"", uri,
           "\" />\n<text x=\"", kLeft, "\" y=\"", kTop + height + 16, "\">0</text>\n<text x=\"",
           kLeft + width, "\" y=\"", kTop + height + 16, "\" text-anchor=\"end\">", heat.width - 1,
           "</text>\n<text x=\"", kLeft + width / 2, "\" y=\"", kTop + height + 16,
           "\" text-anchor=\"middle\">PE x</text>\n<text x=\"", kLeft - 6, "\" y=\"", kTop + 12,
           "\" text-anchor=\"end\">0</text>\n<text x=\"", kLeft - 6, "\" y=\"", kTop + height,
           "\" text-anchor=\"end\">", heat.height - 1, "</text>\n");
  constexpr int kSteps = 32;
  for (int i = 0; i < kSteps; ++i) {
    out += text("<rect x=\"", kLeft + width + 12, "\" y=\"", kTop + height * i / kSteps,
                "\" width=\"", kBar, "\" height=\"", height / kSteps + 1, "\" fill=\"",
                css(color_at(ColorMap::sequential, 1 - static_cast<double>(i) / (kSteps - 1))),
                "\" />\n");
  }
  out += text("<text x=\"", kLeft + width + 12 + kBar + 4, "\" y=\"", kTop + 10, "\">",
              grouped(largest(heat)), "</text>\n<text x=\"", kLeft + width + 12 + kBar + 4,
              "\" y=\"", kTop + height, "\">0</text>\n</svg>\n");
  return out;
}

Result<std::string> heat_page(const std::vector<PeHeat>& heats) {
  HtmlDocument page("Cycles of each processing element");
  page.paragraph(
      "Each pixel is a processing element (PE), a small processor with a memory of its own, with "
      "one "
      "scale for all maps (CereSZ-II, Figure 8). Rest on a PE to see its cycles. The whole wafer "
      "waits for the slowest.");
  std::uint32_t high = 0;
  for (const PeHeat& heat : heats) high = std::max(high, largest(heat));
  std::vector<std::string> figures;
  for (const PeHeat& heat : heats) {
    TRY(const std::string uri, png_data_uri(paint_heat(heat, high)));
    figures.push_back(figure(text("<div data-width=\"", heat.width, "\" data-height=\"",
                                  heat.height, "\" data-cycles=\"", numbers_of(heat), "\">",
                                  image(uri, caption_of(heat)), "<output>&#160;</output></div>"),
                             caption_of(heat)));
  }
  page.add(side_by_side(figures, 320));
  page.add(color_bar_svg(ColorMap::sequential, "0 cycles", text(grouped(high), " cycles")));
  page.add(kScript);
  return page.html();
}

}  // namespace tensorpress::report
