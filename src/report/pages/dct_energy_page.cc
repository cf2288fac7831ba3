#include "report/pages/dct_energy_page.h"

#include "base/columns.h"
#include "base/text.h"
#include "report/drawing/heatmap.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"
#include "report/drawing/plot.h"

namespace tensorpress::report {
namespace {

using benchmark::DctEnergy;
using benchmark::DctEnergyPanel;

constexpr double kEnough = 0.9;  // the outlines keep at least this share of the non-zeros
constexpr int kMostChopFactor = 8;

double kept_by(const DctEnergyPanel& panel, int factor, bool triangle) {
  return triangle ? panel.kept_by_triangle(factor) : panel.kept_by_square(factor);
}

/// The smallest chop factor whose square or triangle keeps enough; 0 if none does.
int smallest_enough(const DctEnergyPanel& panel, bool triangle) {
  for (int factor = 1; factor <= kMostChopFactor; ++factor) {
    if (kept_by(panel, factor, triangle) >= kEnough) return factor;
  }
  return 0;
}

Outline outline_of(int factor, bool triangle) {
  Outline outline{.widths = {}, .dashed = triangle};
  for (int row = 0; row < factor; ++row) {
    outline.widths.push_back(static_cast<std::size_t>(triangle ? factor - row : factor));
  }
  return outline;
}

std::string kept_words(const DctEnergyPanel& panel, bool triangle) {
  const char* name = triangle ? "triangle" : "square";
  const int factor = smallest_enough(panel, triangle);
  if (factor == 0) {
    return text("no ", name, " (CF 8 keeps ", percent(panel.kept_by_triangle(kMostChopFactor)),
                ")");
  }
  return text(name, " CF ", factor, " keeps ", percent(kept_by(panel, factor, triangle)));
}

std::string panel_figure(const DctEnergyPanel& panel) {
  Heatmap map{.title = text(panel.channel, ", quality ", panel.quality),
              .rows = 8,
              .columns = 8,
              .values = {panel.nonzero_share.begin(), panel.nonzero_share.end()}};
  for (std::size_t i = 0; i < 64; ++i) {
    map.labels.push_back(fixed(100 * panel.nonzero_share[i], 0));
    map.notes.push_back(text("row ", i / 8, ", column ", i % 8, ": non-zero in ",
                             fixed(100 * panel.nonzero_share[i], 2), " % of the blocks"));
  }
  for (const bool triangle : {false, true}) {
    if (const int factor = smallest_enough(panel, triangle); factor > 0) {
      map.outlines.push_back(outline_of(factor, triangle));
    }
  }
  return figure(heatmap_svg(map), text(kept_words(panel, false), "; ", kept_words(panel, true)));
}

/// Over all channels, one line a quality.
Plot kept_plot(const DctEnergy& study, bool triangle) {
  Plot plot;
  plot.title = triangle ? "Kept by the triangle layout" : "Kept by the square layout";
  plot.x.label = "chop factor";
  plot.y.label = "% of the non-zero coefficients";
  for (const int quality : study.qualities) {
    Series series{.name = text("quality ", quality)};
    for (int factor = 1; factor <= kMostChopFactor; ++factor) {
      double sum = 0;
      double count = 0;
      for (const DctEnergyPanel& panel : study.panels) {
        if (panel.quality != quality) continue;
        sum += kept_by(panel, factor, triangle);
        ++count;
      }
      series.points.push_back({.x = static_cast<double>(factor),
                               .y = 100 * sum / count,
                               .note = text("quality ", quality, ", CF ", factor, ": ",
                                            fixed(100 * sum / count, 1), " %")});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::vector<std::string> kept_cells(const DctEnergyPanel& panel, bool triangle) {
  std::vector<std::string> cells;
  for (int factor = 1; factor <= kMostChopFactor; ++factor) {
    cells.push_back(fixed(100 * kept_by(panel, factor, triangle), 1));
  }
  return cells;
}

Table kept_table(const DctEnergy& study, bool triangle) {
  Table table;
  table.caption = text("Share of the non-zero coefficients that the ",
                       triangle ? "triangle" : "square", " layout keeps, in percent");
  table.columns = {{"channel", "", false}, {"quality"}};
  for (int factor = 1; factor <= kMostChopFactor; ++factor) {
    table.columns.push_back({text("CF ", factor)});
  }
  for (std::size_t i = 0; i < study.panels.size(); ++i) {
    const DctEnergyPanel& panel = study.panels[i];
    std::vector<std::string> row = {panel.channel, text(panel.quality)};
    for (std::string& cell : kept_cells(panel, triangle)) row.push_back(std::move(cell));
    if (i > 0 && panel.channel != study.panels[i - 1].channel) table.group_starts.push_back(i);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::string dct_energy_html(const DctEnergy& study) {
  HtmlDocument page("Which DCT coefficients images need");
  page.paragraph(text(
      "Each square below is one block of 8 x 8 DCT coefficients, the mean at the upper left, "
      "higher "
      "frequencies to the right and downwards. The number in a cell is the percentage of blocks in "
      "which that coefficient is still non-zero after JPEG's quantization; darker is lower. "
      "Counted "
      "over all blocks of ",
      grouped(study.images), study.images == 1 ? " image." : " images."));
  page.paragraph(text(
      "Lower quality leaves more zeros, and they gather away from the upper left corner. That is "
      "why DCT+Chop may keep a fixed corner and needs no variable-length code. The solid line is "
      "the smallest square of CF x CF that keeps at least ",
      percent(kEnough),
      " of the non-zero coefficients, the dashed line the smallest triangle. All channels use the "
      "luminance table of ITU-T T.81, Annex K.1, scaled by the IJG formula; no change of colour "
      "space is made. This follows Figure 3 of the DCT+Chop paper."));
  page.add(color_bar_svg(ColorMap::sequential, "0 % of blocks", "100 %"));
  std::vector<std::string> maps;
  for (const DctEnergyPanel& panel : study.panels) maps.push_back(panel_figure(panel));
  page.add(matrix(maps, study.qualities.size(), 190));
  page.heading(2, "What a chop factor keeps");
  page.add(side_by_side({figure(plot_svg(kept_plot(study, false)), "Mean of all channels."),
                         figure(plot_svg(kept_plot(study, true)), "Mean of all channels.")},
                        340));
  page.add(html_of(kept_table(study, false)));
  page.add(html_of(kept_table(study, true)));
  return page.html();
}

std::string dct_energy_text(const DctEnergy& study) {
  std::string out = text(
      "Non-zero DCT coefficients kept by each chop factor, in percent, after "
      "JPEG quantization; ",
      study.images, study.images == 1 ? " image\n" : " images\n");
  for (const bool triangle : {false, true}) {
    out += triangle ? "\ntriangle quality" : "\nsquare   quality";
    for (int factor = 1; factor <= kMostChopFactor; ++factor) {
      out += at_right(text("CF ", factor), 7);
    }
    out += '\n';
    for (const DctEnergyPanel& panel : study.panels) {
      out += text(panel.channel, std::string(9 - panel.channel.size(), ' '),
                  at_right(text(panel.quality), 7));
      for (const std::string& cell : kept_cells(panel, triangle)) out += at_right(cell, 7);
      out += '\n';
    }
  }
  return out;
}

}  // namespace tensorpress::report
