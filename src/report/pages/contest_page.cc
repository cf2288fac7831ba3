#include "report/pages/contest_page.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "benchmark/contest_summary.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"
#include "report/drawing/plot.h"

namespace tensorpress::report {
namespace {

using benchmark::ContestMean;
using benchmark::ContestRow;

constexpr int kPlotWidth = 430;  // pixels at least, side by side
constexpr std::string_view kMemcpy = "memcpy";

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

/// What a plot needs of a row or of a mean.
struct Figures {
  std::string codec;
  std::string bound;
  bool lossless = false;
  double ratio = 0;
  double bits_per_value = 0;
  double max_rel_error = 0;
  double psnr_db = 0;
  double compress_gb_per_s = 0;
  double decompress_gb_per_s = 0;
  double memcpy_gb_per_s = 0;
};

template <class From>
Figures figures_of(const From& from, const std::string& bound) {
  return {.codec = from.codec,
          .bound = bound,
          .lossless = from.lossless,
          .ratio = from.ratio,
          .bits_per_value = from.bits_per_value,
          .max_rel_error = from.max_rel_error,
          .psnr_db = from.psnr_db,
          .compress_gb_per_s = from.compress_gb_per_s,
          .decompress_gb_per_s = from.decompress_gb_per_s,
          .memcpy_gb_per_s = from.memcpy_gb_per_s};
}

using Coordinates = Point (*)(const Figures&);

/// A series for each codec, a point for each bound. A codec looks the same in every plot of the
/// page. Lossless codecs give the same bytes for every bound: one point, the fastest.
std::vector<Series> series_of(const std::vector<Figures>& all,
                              const std::vector<std::string>& codecs, Coordinates coordinates) {
  std::vector<Series> list;
  for (std::size_t i = 0; i < codecs.size(); ++i) {
    Series series{.name = codecs[i], .look = i};
    for (const Figures& figures : all) {
      if (figures.codec != codecs[i]) continue;
      Point point = coordinates(figures);
      if (figures.lossless && !series.points.empty()) {
        Point& only = series.points.front();
        if (point.y > only.y) only = std::move(point);
        continue;
      }
      series.points.push_back(std::move(point));
    }
    std::ranges::sort(series.points, {}, &Point::x);
    list.push_back(std::move(series));
  }
  return list;
}

Plot rate_and_largest_error(const std::vector<Figures>& all,
                            const std::vector<std::string>& codecs) {
  Plot plot{.title = "Rate and largest error (down and left is better)",
            .x = {"bits per value", true},
            .y = {"largest error / range", true},
            .series = series_of(all, codecs, [](const Figures& each) {
              return Point{
                  .x = each.bits_per_value,
                  .y = each.max_rel_error,
                  .note = text(each.codec, ", ", each.bound, ": ", rounded(each.bits_per_value, 3),
                               " bits per value, largest error ", rounded(each.max_rel_error, 3),
                               " of the range")};
            })};
  return plot;
}

Plot rate_and_psnr(const std::vector<Figures>& all, const std::vector<std::string>& codecs) {
  Plot plot{.title = "Rate and PSNR (up and left is better)",
            .x = {"bits per value", true},
            .y = {"PSNR, dB"},
            .series = series_of(all, codecs, [](const Figures& each) {
              return Point{
                  .x = each.bits_per_value,
                  .y = each.psnr_db,
                  .note = text(each.codec, ", ", each.bound, ": ", rounded(each.bits_per_value, 3),
                               " bits per value, ", fixed(each.psnr_db, 1), " dB")};
            })};
  return plot;
}

std::string speed_note(const Figures& each, double gb_per_s) {
  return text(each.codec, ", ", each.bound, ": ratio ", fixed(each.ratio, 2), ", ",
              rounded(gb_per_s, 3), " GB/s");
}

Plot speed_and_ratio(const std::vector<Figures>& all, const std::vector<std::string>& codecs,
                     bool compression) {
  Plot plot{.title = compression ? "Compression: speed and ratio (up and right is better)"
                                 : "Decompression: speed and ratio (up and right is better)",
            .x = {"compression ratio", true},
            .y = {"GB/s", true},
            .series = {}};
  if (compression) {
    plot.series = series_of(all, codecs, [](const Figures& each) {
      return Point{.x = each.ratio,
                   .y = each.compress_gb_per_s,
                   .note = speed_note(each, each.compress_gb_per_s)};
    });
  } else {
    plot.series = series_of(all, codecs, [](const Figures& each) {
      return Point{.x = each.ratio,
                   .y = each.decompress_gb_per_s,
                   .note = speed_note(each, each.decompress_gb_per_s)};
    });
  }
  Series copy{.name = std::string(kMemcpy), .look = codecs.size()};
  for (const Figures& each : all) {
    if (copy.points.empty() || each.memcpy_gb_per_s > copy.points.front().y) {
      copy.points = {{.x = 1,
                      .y = each.memcpy_gb_per_s,
                      .note = text("memcpy: ", rounded(each.memcpy_gb_per_s, 3), " GB/s")}};
    }
  }
  plot.series.push_back(std::move(copy));
  return plot;
}

std::string plots(const std::vector<Figures>& all, const std::vector<std::string>& codecs) {
  return side_by_side(
      {plot_svg(rate_and_largest_error(all, codecs)), plot_svg(rate_and_psnr(all, codecs)),
       plot_svg(speed_and_ratio(all, codecs, true)), plot_svg(speed_and_ratio(all, codecs, false))},
      kPlotWidth);
}

std::string speed(double gb_per_s) {
  return fixed(gb_per_s, gb_per_s < 0.0995 ? 3 : 2);
}

std::string times(double quotient) {
  return std::isnan(quotient) ? "" : fixed(quotient, 2);
}

Table means_table(const std::vector<ContestMean>& means) {
  const std::string over = text(" / ", kContestReference);
  Table table;
  table.caption = text(
      "Geometric means over the fields that each could compress; the last three columns are "
      "quotients over the fields that both it and ",
      kContestReference, " could compress.");
  table.columns = {{"bound", "", false},
                   {"codec", "", false},
                   {"fields", "", true},
                   {"ratio", "uncompressed bytes over compressed bytes", true},
                   {"compress GB/s", "1e9 uncompressed bytes a second", true},
                   {"decompress GB/s", "1e9 uncompressed bytes a second", true},
                   {"bound kept", "on how many fields", true},
                   {text("ratio", over), "", true},
                   {text("compress", over), "", true},
                   {text("decompress", over), "", true}};
  for (std::size_t i = 0; i < means.size(); ++i) {
    const ContestMean& mean = means[i];
    if (i > 0 && mean.bound != means[i - 1].bound) table.group_starts.push_back(i);
    if (mean.fields == 0) {
      table.rows.push_back({mean.bound, mean.codec, text("0 of ", mean.of)});
      continue;
    }
    table.rows.push_back({mean.bound, mean.codec, text(mean.fields, " of ", mean.of),
                          fixed(mean.ratio, 2), speed(mean.compress_gb_per_s),
                          speed(mean.decompress_gb_per_s), text(mean.kept, " of ", mean.fields),
                          times(mean.ratio_over_reference), times(mean.compress_over_reference),
                          times(mean.decompress_over_reference)});
  }
  return table;
}

Table field_table(const std::vector<ContestRow>& rows) {
  Table table;
  table.columns = {{"bound", "", false},
                   {"codec", "", false},
                   {"ratio", "uncompressed bytes over compressed bytes", true},
                   {"compress GB/s", "1e9 uncompressed bytes a second", true},
                   {"decompress GB/s", "1e9 uncompressed bytes a second", true},
                   {"memcpy GB/s", "of the same bytes in the same run", true},
                   {"max_abs_error", "", true},
                   {"PSNR, dB", "", true},
                   {"bound kept", "checked element by element in double", false}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ContestRow& row = rows[i];
    const std::string bound = row.bound.requested.to_string();
    if (i > 0 && bound != rows[i - 1].bound.requested.to_string()) table.group_starts.push_back(i);
    if (!row.cannot.empty()) {
      table.rows.push_back(
          {bound, row.codec, "", "", "", "", "", "", text("cannot: ", row.cannot)});
      continue;
    }
    table.rows.push_back({bound, row.codec, fixed(row.ratio, 2), speed(row.compress_gb_per_s),
                          speed(row.decompress_gb_per_s), fixed(row.memcpy_gb_per_s, 1),
                          rounded(row.max_abs_error, 4), fixed(row.psnr_db, 1),
                          row.lossless     ? "lossless"
                          : row.kept_bound ? "yes"
                                           : "no"});
  }
  return table;
}

}  // namespace

std::string contest_html(const std::vector<ContestRow>& rows) {
  std::vector<std::string> fields, codecs;
  for (const ContestRow& row : rows) {
    add_once(fields, row.field);
    add_once(codecs, row.codec);
  }
  HtmlDocument page("Compressors on the same fields with the same bounds");
  page.paragraph(text(
      "Each compressor gets the same absolute bound on a field, works on one thread from memory to "
      "memory, and takes turns with the others; the best of several turns counts. Each copy is "
      "compared with the original element by element. Other compressors run inside HDF5 (one chunk "
      "of a file that stays in memory), so ",
      "hdf5-uncompressed shows what HDF5 itself costs; their ratio counts the compressed chunk "
      "alone, ours the whole stream. Measured on the machine that wrote this page."));
  page.heading(2, text("All ", fields.size(), " fields"));
  const auto means = means_of(rows, kContestReference);
  std::vector<Figures> mean_figures;
  for (const ContestMean& mean : means) {
    if (mean.fields > 0) mean_figures.push_back(figures_of(mean, mean.bound));
  }
  page.add(plots(mean_figures, codecs));
  page.paragraph(
      "Points are geometric means over fields (PSNR: arithmetic; PSNR and largest error without "
      "exact copies), one for each bound. A compressor that cannot take some of the fields has its "
      "mean over the others.");
  page.add(html_of(means_table(means)));
  for (const std::string& field : fields) {
    std::vector<ContestRow> own;
    std::vector<Figures> figures;
    for (const ContestRow& row : rows) {
      if (row.field != field) continue;
      own.push_back(row);
      if (row.cannot.empty()) figures.push_back(figures_of(row, row.bound.requested.to_string()));
    }
    page.heading(2, field);
    page.add(plots(figures, codecs));
    page.add(html_of(field_table(own)));
  }
  return page.html();
}

}  // namespace tensorpress::report
