#include "report/pages/demo_report.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "base/text.h"
#include "benchmark/studies/demo_study.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"
#include "report/drawing/picture.h"
#include "report/drawing/plot.h"

namespace tensorpress::report {
namespace {

using benchmark::chop_factor;
using benchmark::RoundTrip;
using benchmark::setting_of;
using benchmark::variant_name;

std::string psnr_text(const RoundTrip& trip) {
  const double psnr = trip.error.psnr_db();
  return std::isinf(psnr) ? "exact" : fixed(psnr, 1);
}

/// Rows that keep every coefficient lose nothing but rounding; in a plot they would only squeeze
/// the others.
bool keeps_everything(const RoundTrip& trip) {
  if (chop_factor(trip.info.codec) == 0) return trip.stored_raw();
  const int points = trip.info.codec.parameter("transform") == "zfp" ? 4 : 8;
  return trip.stored_raw() || (trip.info.codec.parameter("layout") == "square" &&
                               chop_factor(trip.info.codec) == points);
}

std::string table_of(const DemoDataSet& set) {
  Table table;
  table.columns = {
      {"variant", "transform and layout of the kept coefficients, or the codec", false},
      {"setting",
       "dct-chop: the chop factor CF, how many frequencies are kept along each axis of a "
       "block; others: the largest error allowed, as a share of the value range"},
      {"ratio", "bytes before over bytes after, the whole stream"},
      {"payload_ratio", "the same for the coefficients alone, without headers and checksums"},
      {"bits_per_value", "bits of the whole stream for each element"},
      {"max_rel_error", "largest error over the value range"},
      {"psnr_db", "peak signal-to-noise ratio in decibels; more is better"},
      {"nrmse", "root mean square error over the value range"},
      {"ssim", "structural similarity of the planes; 1 is equal"},
      {"compress_gb_per_s", "uncompressed 1e9 bytes per second, measured on this machine"},
      {"decompress_gb_per_s", "uncompressed 1e9 bytes per second, measured on this machine"},
  };
  std::string previous;
  for (const RoundTrip& trip : set.rows) {
    const std::string variant = variant_name(trip.info.codec);
    if (!previous.empty() && variant != previous) table.group_starts.push_back(table.rows.size());
    previous = variant;
    table.rows.push_back({variant + (trip.stored_raw() ? ", stored raw" : ""),
                          setting_of(trip.info.codec), fixed(trip.ratio(), 2),
                          fixed(trip.payload_ratio(), 2), fixed(trip.bits_per_value(), 2),
                          rounded(trip.error.max_rel_error(), 3), psnr_text(trip),
                          rounded(trip.error.nrmse(), 3), trip.ssim ? fixed(*trip.ssim, 4) : "–",
                          fixed(trip.compress_gb_per_s, 2), fixed(trip.decompress_gb_per_s, 2)});
  }
  return html_of(table);
}

/// All data sets side by side, at the chop factors that are also shown as pictures.
std::string summary_of(std::span<const DemoDataSet> sets) {
  Table table;
  table.caption =
      "At a glance: the square layout with the DCT; times smaller and peak signal-to-noise ratio";
  table.columns = {{"data", "", false}, {"shape"}, {"type"}};
  if (!sets.empty()) {
    for (const DemoPicture& shown : sets[0].pictures) {
      const std::string factor = text("CF ", chop_factor(sets[0].rows[shown.row].info.codec));
      table.columns.push_back({factor + " ratio"});
      table.columns.push_back({factor + " psnr_db"});
    }
  }
  for (const DemoDataSet& set : sets) {
    std::vector<std::string> row = {set.description.title, set.shape.to_string(),
                                    std::string(name_of(set.dtype))};
    for (const DemoPicture& shown : set.pictures) {
      row.push_back(fixed(set.rows[shown.row].ratio(), 2));
      row.push_back(psnr_text(set.rows[shown.row]));
    }
    table.rows.push_back(std::move(row));
  }
  return html_of(table);
}

Plot plot_of(const DemoDataSet& set) {
  Plot plot;
  plot.title = text("Quality against size: ", set.description.title);
  plot.x = {"bits per value (logarithmic)", true};
  plot.y = {"PSNR in dB", false};
  for (const RoundTrip& trip : set.rows) {
    if (keeps_everything(trip)) continue;
    const std::string variant = variant_name(trip.info.codec);
    if (plot.series.empty() || plot.series.back().name != variant) {
      plot.series.push_back({.name = variant});
    }
    const bool chopped = chop_factor(trip.info.codec) > 0;
    const std::string setting = setting_of(trip.info.codec);
    const std::string note =
        text(variant, chopped ? ", CF " : ", REL ", setting, ": ", fixed(trip.bits_per_value(), 2),
             " bits per value, ", psnr_text(trip), " dB, ratio ", fixed(trip.ratio(), 2));
    plot.series.back().points.push_back(
        {trip.bits_per_value(), trip.error.psnr_db(),
         plot.series.size() == 1 || variant == "dense" ? setting : "", note});
  }
  return plot;
}

Plane difference(const Plane& copy, const Plane& original) {
  Plane result = copy;
  for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] -= original.values[i];
  return result;
}

/// What 99 of 100 values stay below; single outliers should not bleach a whole picture.
double ninety_ninth_percentile_of_magnitude(const Plane& plane) {
  std::vector<float> magnitudes;
  for (const float value : plane.values) {
    if (std::isfinite(value)) magnitudes.push_back(std::abs(value));
  }
  if (magnitudes.empty()) return 0;
  const auto nth = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() * 99 / 100);
  std::ranges::nth_element(magnitudes, nth);
  return *nth;
}

ColorScale scale_of_values(const DemoDataSet& set) {
  ColorScale scale{.low = INFINITY, .high = -INFINITY};
  for (const float value : set.original.values) {
    if (!std::isfinite(value)) continue;
    scale.low = std::min<double>(scale.low, value);
    scale.high = std::max<double>(scale.high, value);
  }
  scale.map = set.description.grey ? ColorMap::grey : ColorMap::sequential;
  return scale;
}

Result<std::string> picture(const Plane& plane, const ColorScale& scale, const std::string& alt,
                            const std::string& caption) {
  if (plane.values.empty()) return figure("", "Nothing to see: the tensor is empty.");
  TRY(const std::string data, png_data_uri(paint(plane, scale)));
  return figure(image(data, alt), caption);
}

/// The plot with the original beside it.
Result<std::string> overview_of(const DemoDataSet& set) {
  const std::string& title = set.description.title;
  TRY(const std::string original,
      picture(set.original, scale_of_values(set), title + ", original",
              text("The original: ", set.excerpt.description(set.shape), ".")));
  return side_by_side(
      {figure(plot_svg(plot_of(set)),
              "Up and to the left is better. The small numbers are chop factors, for dense bounds. "
              "Variants that keep every coefficient are in the table only."),
       original},
      340);
}

/// Copies with their differences from the original below them.
Result<std::string> pictures_of(const DemoDataSet& set) {
  const std::string& title = set.description.title;
  const ColorScale values = scale_of_values(set);
  double most = 0;
  for (const DemoPicture& shown : set.pictures) {
    most =
        std::max(most, ninety_ninth_percentile_of_magnitude(difference(shown.copy, set.original)));
  }
  const ColorScale differences{.low = -most, .high = most, .map = ColorMap::diverging};
  std::vector<std::string> columns;
  for (const DemoPicture& shown : set.pictures) {
    const RoundTrip& trip = set.rows[shown.row];
    const std::string name =
        text(variant_name(trip.info.codec), ", CF ", chop_factor(trip.info.codec));
    TRY(const std::string copy, picture(shown.copy, values, text(title, " after ", name),
                                        text(name, ": ", fixed(trip.ratio(), 1), " times smaller, ",
                                             psnr_text(trip), " dB")));
    TRY(const std::string changed,
        picture(difference(shown.copy, set.original), differences,
                text(title, ", difference after ", name),
                text("Its difference from the original; at most ",
                     rounded(100 * trip.error.max_rel_error(), 3), " % of the value range")));
    columns.push_back(side_by_side({copy, changed}, 200));
  }
  return figure(side_by_side(columns, 260),
                text("Before and after at three chop factors. Differences: blue is too low, red is "
                     "too high, full colour at ±",
                     rounded(most, 4), ", white is no difference; one scale for all three."));
}

void add_introduction(HtmlDocument& page) {
  page.paragraph(
      "Tensorpress makes arrays of numbers smaller. On this page real data goes through its "
      "codecs and comes back, and each copy is compared with its original.");
  page.paragraph(
      "dct-chop cuts each plane into blocks of 8 x 8 values, turns every block into frequencies "
      "with the discrete cosine transform, and keeps the low ones: a square of CF x CF of them, or "
      "the triangle in its corner. CF is the chop factor, 1 (smallest) to 8 (everything). With "
      "32-bit values and coefficients the square makes the data 64/CF² times smaller, whatever the "
      "data is. ZFP's transform does the same on blocks of 4 x 4.");
  page.paragraph(
      "dense and ceresz are given the largest error instead, here a hundredth, a thousandth and a "
      "ten-thousandth of the value range, and no value is further off than that: dense predicts "
      "each value from others and codes what is left in as few bits as it can, ceresz gives blocks "
      "of 32 values one width and is the fastest.");
  page.paragraph(
      "Smooth data loses little, because its high frequencies are nearly empty. Sharp edges, such "
      "as coasts and outlines, lose more. Nothing here is predicted: sizes, errors and speeds were "
      "measured on this machine, on one thread, from memory to memory with all checks and "
      "checksums. Small data sets fit in the processor's cache, which flatters the speeds.");
}

}  // namespace

Result<std::string> demo_html(std::span<const DemoDataSet> sets) {
  HtmlDocument page("Tensorpress: a demonstration");
  add_introduction(page);
  page.add(summary_of(sets));
  for (const DemoDataSet& set : sets) {
    page.heading(2, set.description.title);
    page.paragraph(text(set.description.about, set.description.about.empty() ? "" : " ", "Shape ",
                        set.shape.to_string(), ", type ", name_of(set.dtype), ", ",
                        human_bytes(set.shape.element_count() * size_of(set.dtype)), "."));
    if (set.shape.element_count() > 0) {  // nothing to see otherwise
      TRY(const std::string overview, overview_of(set));
      TRY(const std::string pictures, pictures_of(set));
      page.add(overview);
      page.add(pictures);
    }
    page.add(table_of(set));
  }
  return page.html();
}

}  // namespace tensorpress::report
