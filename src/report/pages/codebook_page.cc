#include "report/pages/codebook_page.h"

#include <algorithm>

#include "base/columns.h"
#include "base/text.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"
#include "report/drawing/plot.h"

namespace tensorpress::report {
namespace {

using benchmark::CodebookStudy;
using benchmark::CodeSize;
using benchmark::StudiedSet;
using benchmark::TrainingDraw;

std::string names_of(const CodebookStudy& study, const TrainingDraw& draw) {
  std::string names;
  for (const std::size_t i : draw.trained_on) {
    names += text(names.empty() ? "" : ", ", study.sets[i].name);
  }
  return names;
}

/// Figure 7: what was counted and the normal distribution beside it.
Plot distribution_plot(const StudiedSet& set) {
  Plot plot;
  plot.title = set.name;
  plot.x.label = "difference of quanta";
  plot.y.label = "% of all differences";
  Series counted{.name = "counted", .line = false};
  Series fitted{.name = "normal distribution"};
  for (std::size_t i = 0; i < set.fit.shares.size(); ++i) {
    const double x = (static_cast<double>(i) - benchmark::kFitBins) * set.fit.bin_width;
    counted.points.push_back({.x = x, .y = 100 * set.fit.shares[i]});
    fitted.points.push_back({.x = x, .y = 100 * set.fit.fitted[i]});
  }
  plot.series = {std::move(counted), std::move(fitted)};
  return plot;
}

/// Figure 6: a line a data set.
Plot size_plot(const CodebookStudy& study, bool ratio) {
  Plot plot;
  plot.title = ratio ? "Compression ratio" : "Bits of a value";
  plot.x.label = "symbols in the codebook";
  plot.y.label = ratio ? "compression ratio" : "bits per value in blocks that are not zero";
  for (const StudiedSet& set : study.sets) {
    Series series{.name = set.name};
    for (const CodeSize& size : set.sizes) {
      const double y = ratio ? size.ratio : size.bits_per_value;
      series.points.push_back(
          {.x = static_cast<double>(size.symbols),
           .y = y,
           .note = text(set.name, ", ", size.symbols, " symbols: ", fixed(y, 2))});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

Table set_table(const CodebookStudy& study) {
  Table table;
  table.caption = "The data sets, and codebooks of their own with so many symbols: ratio";
  table.columns = {{"data set", "", false},
                   {"values"},
                   {"zero blocks", "blocks of 32 whose quanta are all zero"},
                   {"escapes", "differences beyond the usual symbols"},
                   {"sigma", "standard deviation of the differences"},
                   {"R²", "how much of the shares the normal distribution explains"}};
  if (!study.sets.empty()) {
    for (const CodeSize& size : study.sets.front().sizes) {
      table.columns.push_back({text(size.symbols)});
    }
  }
  for (const StudiedSet& set : study.sets) {
    std::vector<std::string> row = {set.name,
                                    grouped(set.values),
                                    percent(set.zero_blocks),
                                    percent(set.escapes),
                                    fixed(set.fit.sigma, 2),
                                    fixed(set.fit.r_squared, 3)};
    for (const CodeSize& size : set.sizes) row.push_back(fixed(size.ratio, 2));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table draw_table(const CodebookStudy& study) {
  Table table;
  table.caption = "Ratio with a static codebook, trained on others, and with the best one";
  table.columns = {
      {"data set", "", false}, {"trained on", "", false}, {"static"}, {"dynamic"}, {"loss"}};
  for (const TrainingDraw& draw : study.draws) {
    table.group_starts.push_back(table.rows.size());
    for (const TrainingDraw::Held& held : draw.held_out) {
      table.rows.push_back(
          {study.sets[held.set].name, names_of(study, draw), fixed(held.static_ratio, 2),
           fixed(held.dynamic_ratio, 2),
           text(fixed(100 * (1 - held.static_ratio / held.dynamic_ratio), 1), " %")});
    }
  }
  return table;
}

/// The paper's Table I on these data sets.
Table static_table(const CodebookStudy& study) {
  Table table;
  table.caption = "Ratio with the static codebook and with the best one of as many symbols";
  table.columns = {{"data set", "", false}, {"static"}, {"dynamic"}, {"loss"}};
  for (const StudiedSet& set : study.sets) {
    table.rows.push_back({set.name, fixed(set.static_ratio, 2), fixed(set.dynamic_ratio, 2),
                          text(fixed(100 * (1 - set.static_ratio / set.dynamic_ratio), 1), " %")});
  }
  return table;
}

/// What the paper prints in Table I, to compare with.
Table paper_table() {
  return {.caption = "The paper's Table I (published; REL 1e-4)",
          .columns = {{"field", "", false}, {"static"}, {"dynamic"}, {"loss"}},
          .rows = {{"NYX, baryon density", "29.84", "29.94", "0.3 %"},
                   {"RTM, pressure 1000", "25.47", "25.59", "0.5 %"},
                   {"SCALE, PRES", "9.09", "9.77", "7.0 %"},
                   {"HACC, vx", "3.22", "3.80", "15.3 %"}},
          .group_starts = {}};
}

constexpr const char* kPaperTable =
    "The paper's Table I (published): NYX 29.84 of 29.94 (0.3 %), RTM 25.47 of 25.59 (0.5 %),\n"
    "SCALE 9.09 of 9.77 (7.0 %), HACC 3.22 of 3.80 (15.3 %)\n";

std::size_t longest_name(const CodebookStudy& study) {
  std::size_t longest = 8;
  for (const StudiedSet& set : study.sets) longest = std::max(longest, set.name.size());
  return longest;
}

}  // namespace

std::string codebook_study_html(const CodebookStudy& study, const std::string& bound) {
  HtmlDocument page("One codebook for all data");
  page.paragraph(text(
      "ceresz2 writes the differences of neighbouring quanta with a Huffman code that is known "
      "before the data. This page shows for ",
      study.sets.size(), " data sets at ", bound,
      " how the differences are distributed, how many of them need a code of their own, and "
      "what a code loses that was made for other data. It follows Figures 6 and 7 and Table I "
      "of the CereSZ-II paper."));
  page.heading(2, "Distribution of the differences");
  page.paragraph(
      "Markers are what was counted; the line is the normal distribution of the same "
      "mean and standard deviation.");
  std::vector<std::string> plots;
  for (const StudiedSet& set : study.sets) {
    plots.push_back(figure(
        plot_svg(distribution_plot(set)),
        text("mean ", fixed(set.fit.mean, 2), ", sigma ", fixed(set.fit.sigma, 2), ", R² ",
             fixed(set.fit.r_squared, 3),
             set.fit.bin_width == 1 ? std::string()
                                    : text(", ", set.fit.bin_width, " differences a marker"))));
  }
  page.add(side_by_side(plots, 340));
  page.heading(2, "Symbols in the codebook");
  page.add(side_by_side({figure(plot_svg(size_plot(study, false)),
                                "A difference without a code costs 33 bits (65 for f64)."),
                         figure(plot_svg(size_plot(study, true)),
                                "With the blocks' counts and zero blocks; padding is estimated.")},
                        340));
  page.add(html_of(set_table(study)));
  page.heading(2, "Static and dynamic");
  if (!study.sets.empty() && study.sets.front().static_ratio > 0) {
    page.add(html_of(static_table(study)));
  }
  page.add(html_of(paper_table()));
  page.heading(2, "Training on three data sets");
  if (study.draws.empty()) {
    page.paragraph("With fewer than four data sets nothing is left to test on.");
  } else {
    page.add(html_of(draw_table(study)));
  }
  return page.html();
}

std::string codebook_study_text(const CodebookStudy& study, const std::string& bound) {
  const std::size_t width = longest_name(study);
  std::string out = text("Compression ratio at ", bound,
                         " by the number of symbols in a codebook of the data set's own\n",
                         at_left("data set", width), "  zero blocks  escapes   sigma     R²");
  if (!study.sets.empty()) {
    for (const CodeSize& size : study.sets.front().sizes) out += at_right(text(size.symbols), 7);
  }
  out += '\n';
  for (const StudiedSet& set : study.sets) {
    out += text(at_left(set.name, width), at_right(percent(set.zero_blocks), 13),
                at_right(percent(set.escapes), 9), at_right(fixed(set.fit.sigma, 2), 8),
                at_right(fixed(set.fit.r_squared, 3), 7));
    for (const CodeSize& size : set.sizes) out += at_right(fixed(size.ratio, 2), 7);
    out += '\n';
  }
  if (!study.sets.empty() && study.sets.front().static_ratio > 0) {
    out += text("\nRatio with the static codebook and with the best one of as many symbols\n",
                at_left("data set", width), "  static  dynamic     loss\n");
    for (const StudiedSet& set : study.sets) {
      out += text(at_left(set.name, width), at_right(fixed(set.static_ratio, 2), 8),
                  at_right(fixed(set.dynamic_ratio, 2), 9),
                  at_right(fixed(100 * (1 - set.static_ratio / set.dynamic_ratio), 1), 7), " %\n");
    }
    out += kPaperTable;
  }
  if (study.draws.empty()) return out;
  out +=
      "\nLoss of a static codebook against the best one, on the data sets it was not trained on\n"
      "   mean   worst  trained on\n";
  for (const TrainingDraw& draw : study.draws) {
    out += text(at_right(fixed(100 * draw.mean_loss, 1), 5), " %",
                at_right(fixed(100 * draw.worst_loss, 1), 6), " %  ", names_of(study, draw), "\n");
  }
  return out;
}

}  // namespace tensorpress::report
