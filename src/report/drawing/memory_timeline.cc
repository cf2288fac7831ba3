#include "report/drawing/memory_timeline.h"

#include <algorithm>
#include <array>

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

// In the units of the viewBox; the drawing takes the whole width of the page. Letters of a narrow
// page are larger (page.css), so the margins are for 22 units. What is longer than a word is beside
// the drawing, where it can wrap.
constexpr double kWidth = 800;
constexpr double kLeft = 64;
constexpr double kRight = kWidth - 10;
constexpr double kTop = 36;
constexpr double kBottom = 290;
constexpr double kHeight = kBottom + 34;
constexpr const char* kSoft = "class=\"soft\" font-size=\"10.5\"";
constexpr std::size_t kMostColumns = 400;
// Layers differ by more than colour: every second one is hatched.
constexpr const char* kHatch =
    "<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"2.2\" height=\"7\" "
    "style=\"fill:var(--paper);opacity:.45\" /></pattern></defs>\n"
    "<style>.moment{fill:var(--ink);opacity:0}.moment:hover{opacity:.14}</style>\n";

struct Unit {
  double bytes = 1;
  const char* name = "bytes";
};

Unit unit_for(std::int64_t most) {
  constexpr std::array<Unit, 5> kUnits = {{{1, "bytes"},
                                           {1024.0, "KiB"},
                                           {1048576.0, "MiB"},
                                           {1073741824.0, "GiB"},
                                           {1099511627776.0, "TiB"}}};
  Unit unit = kUnits[0];
  for (const Unit& each : kUnits) {
    if (static_cast<double>(most) >= each.bytes) unit = each;
  }
  return unit;
}

/// What the pointer shows: the sum first, then the layers from the top.
std::string note_of(const MemoryTimeline& timeline, std::size_t position) {
  const TimelinePosition& here = timeline.positions[position];
  std::string note =
      text(here.name, ": ", human_bytes(static_cast<std::uint64_t>(bytes_at(timeline, position))));
  for (std::size_t layer = timeline.layers.size(); layer-- > 0;) {
    if (layer >= here.bytes.size() || here.bytes[layer] == 0) continue;
    note += text("\n", timeline.layers[layer], ": ",
                 human_bytes(static_cast<std::uint64_t>(here.bytes[layer])));
  }
  return note;
}

/// The position that stands for each column of the drawing.
std::vector<std::size_t> columns_of(const MemoryTimeline& timeline) {
  const std::size_t length = timeline.positions.size();
  const std::size_t count = std::min(length, kMostColumns);
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < count; ++c) {
    std::size_t best = c * length / count;
    for (std::size_t t = best + 1; t < (c + 1) * length / count; ++t) {
      if (bytes_at(timeline, t) > bytes_at(timeline, best)) best = t;
    }
    columns.push_back(best);
  }
  return columns;
}

std::string legend_entry(std::string_view mark, std::string_view name) {
  return text("<span><i ", mark, "></i>", escape(name), "</span>\n");
}

/// The marks first, then the layers from the bottom.
std::string legend_of(const MemoryTimeline& timeline) {
  const std::size_t peak = peak_position(timeline);
  const auto bytes = static_cast<std::uint64_t>(bytes_at(timeline, peak));
  std::string out = legend_entry(
      "class=\"dot\"", text("peak ", human_bytes(bytes), " at ", timeline.positions[peak].name));
  if (timeline.limit_bytes > 0) {
    const auto limit = static_cast<std::uint64_t>(timeline.limit_bytes);
    out += legend_entry("class=\"dashes\"", text("budget ", human_bytes(limit)));
  }
  for (std::size_t layer = 0; layer < timeline.layers.size(); ++layer) {
    out += legend_entry(text("class=\"area", layer % 2 == 1 ? " hatched" : "",
                             "\" style=\"background-color:", series_color(layer), "\""),
                        timeline.layers[layer]);
  }
  return text("<div class=\"legend\">", out, "</div>\n");
}

class Drawing {
 public:
  explicit Drawing(const MemoryTimeline& timeline)
      : timeline_(timeline),
        columns_(columns_of(timeline)),
        peak_(peak_position(timeline)),
        top_(std::max({bytes_at(timeline, peak_), timeline.scale_bytes, timeline.limit_bytes,
                       std::int64_t{1}})),
        unit_(unit_for(top_)),
        step_((kRight - kLeft) / static_cast<double>(columns_.size())) {}

  std::string svg() const { return text(grid(), layers(), passes(), limit(), mark(), pointers()); }

 private:
  double y(double bytes) const {
    return kBottom - bytes / static_cast<double>(top_) * (kBottom - kTop);
  }
  double x(std::size_t column) const { return kLeft + step_ * static_cast<double>(column); }

  std::string grid() const {
    std::string out;
    for (const double tick : linear_ticks(0, static_cast<double>(top_) / unit_.bytes, 6)) {
      const double place = y(tick * unit_.bytes);
      out += line("grid", kLeft, place, kRight, place);
      out += words(kLeft - 7, place + 4, "end", kSoft, tick_label(tick));
    }
    return out + words(kLeft - 7, kTop - 14, "end", kSoft, unit_.name);
  }

  /// Each layer is one closed outline of steps.
  std::string layers() const {
    std::string out;
    std::vector<double> below(columns_.size(), 0);
    for (std::size_t layer = 0; layer < timeline_.layers.size(); ++layer) {
      std::string forth;
      std::string back;
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const std::vector<std::int64_t>& bytes = timeline_.positions[columns_[c]].bytes;
        const double low = below[c];
        if (layer < bytes.size()) below[c] += static_cast<double>(bytes[layer]);
        forth += text(c == 0 ? "M" : "L", at(x(c)), " ", at(y(below[c])), "H", at(x(c + 1)));
        back = text("L", at(x(c + 1)), " ", at(y(low)), "H", at(x(c))) + back;
      }
      const std::string path = forth + back + "Z";
      out += text("<path d=\"", path, "\" style=\"fill:", series_color(layer), "\" />\n");
      if (layer % 2 == 1) out += text("<path d=\"", path, "\" style=\"fill:url(#hatch)\" />\n");
    }
    return out;
  }

  std::string passes() const {
    std::string out = line("axis", kLeft, kBottom, kRight, kBottom);
    const std::size_t turn = timeline_.first_backward;
    if (turn == 0 || turn >= timeline_.positions.size()) return out;
    const double middle = kLeft + (kRight - kLeft) * static_cast<double>(turn) /
                                      static_cast<double>(timeline_.positions.size());
    out += text("<line class=\"axis\" stroke-dasharray=\"4 4\" x1=\"", at(middle), "\" y1=\"",
                at(kTop), "\" x2=\"", at(middle), "\" y2=\"", at(kBottom), "\" />\n");
    out += words((kLeft + middle) / 2, kBottom + 24, "middle", kSoft, "forward");
    return out + words((kRight + middle) / 2, kBottom + 24, "middle", kSoft, "backward");
  }

  std::string limit() const {
    if (timeline_.limit_bytes <= 0) return "";
    const double place = y(static_cast<double>(timeline_.limit_bytes));
    return text("<line stroke-dasharray=\"8 5\" style=\"stroke:var(--ink);stroke-width:1.5\" x1=\"",
                at(kLeft), "\" y1=\"", at(place), "\" x2=\"", at(kRight), "\" y2=\"", at(place),
                "\" />\n");
  }

  std::string mark() const {
    const auto column = static_cast<std::size_t>(
        std::ranges::find_if(columns_, [&](std::size_t t) { return t >= peak_; }) -
        columns_.begin());
    const std::int64_t bytes = bytes_at(timeline_, peak_);
    const double px = x(std::min(column, columns_.size() - 1)) + step_ / 2;
    const double py = y(static_cast<double>(bytes));
    return text("<circle cx=\"", at(px), "\" cy=\"", at(py),
                "\" r=\"4\" style=\"fill:var(--ink);stroke:var(--paper)\" />\n");
  }

  std::string pointers() const {
    std::string out;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      out += text("<rect class=\"moment\" x=\"", at(x(c)), "\" y=\"", at(kTop), "\" width=\"",
                  at(step_), "\" height=\"", at(kBottom - kTop), "\"><title>",
                  escape(note_of(timeline_, columns_[c])), "</title></rect>\n");
    }
    return out;
  }

  const MemoryTimeline& timeline_;
  std::vector<std::size_t> columns_;
  std::size_t peak_;
  std::int64_t top_;
  Unit unit_;
  double step_;
};

}  // namespace

std::int64_t bytes_at(const MemoryTimeline& timeline, std::size_t position) {
  std::int64_t sum = 0;
  if (position >= timeline.positions.size()) return sum;
  for (const std::int64_t bytes : timeline.positions[position].bytes) sum += bytes;
  return sum;
}

std::size_t peak_position(const MemoryTimeline& timeline) {
  std::size_t best = 0;
  for (std::size_t t = 1; t < timeline.positions.size(); ++t) {
    if (bytes_at(timeline, t) > bytes_at(timeline, best)) best = t;
  }
  return best;
}

std::string timeline_html(const MemoryTimeline& timeline) {
  const auto open = [&](double height) {
    return text("<svg class=\"timeline\" viewBox=\"0 0 ", kWidth, " ", at(height),
                "\" role=\"img\" aria-label=\"", escape(timeline.title), "\">\n");
  };
  if (timeline.positions.empty()) {
    return open(60) + words(kWidth / 2, 36, "middle", kSoft, "no data to draw") + "</svg>\n";
  }
  return open(kHeight) + kHatch + Drawing(timeline).svg() + "</svg>\n" + legend_of(timeline);
}

}  // namespace tensorpress::report
