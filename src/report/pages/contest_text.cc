// The terminal's tables of `bench --peers`.
#include <algorithm>
#include <cmath>

#include "base/columns.h"
#include "base/text.h"
#include "benchmark/contest_summary.h"
#include "report/drawing/numbers.h"
#include "report/pages/contest_page.h"

namespace tensorpress::report {
namespace {

using benchmark::ContestMean;
using benchmark::ContestRow;

std::string left(const std::string& cell, std::size_t width) {
  return at_left(cell, width) + ' ';
}

std::string right(const std::string& cell, std::size_t width) {
  return at_right(cell, width) + ' ';
}

std::string speed(double gb_per_s) {
  return fixed(gb_per_s, gb_per_s < 0.0995 ? 3 : 2);
}

/// "-" without a reference.
std::string times(double quotient) {
  return std::isnan(quotient) ? "-" : fixed(quotient, 2);
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

std::string contest_text_heading() {
  return trimmed(text(left("field", 24), left("codec", 18), left("bound", 10), right("ratio", 9),
                      right("compress", 9), right("decompress", 10), right("memcpy", 7),
                      right("max_error", 10), right("PSNR", 7), "bound kept")) +
         trimmed(text(left("", 24), left("", 18), left("", 10), right("", 9), right("GB/s", 9),
                      right("GB/s", 10), right("GB/s", 7), right("", 10), right("dB", 7)));
}

std::string contest_text(const ContestRow& row) {
  const std::string begin =
      text(left(row.field, 24), left(row.codec, 18), left(row.bound.requested.to_string(), 10));
  if (!row.cannot.empty()) return text(begin, "cannot: ", row.cannot, "\n");
  return trimmed(text(begin, right(fixed(row.ratio, 2), 9), right(speed(row.compress_gb_per_s), 9),
                      right(speed(row.decompress_gb_per_s), 10),
                      right(fixed(row.memcpy_gb_per_s, 1), 7),
                      right(rounded(row.max_abs_error, 4), 10), right(fixed(row.psnr_db, 1), 7),
                      row.lossless     ? "lossless"
                      : row.kept_bound ? "yes"
                                       : "NO"));
}

std::string contest_text_summary(const std::vector<ContestRow>& rows) {
  const auto means = means_of(rows, kContestReference);
  const bool has_reference = std::ranges::any_of(
      means, [](const ContestMean& mean) { return !std::isnan(mean.ratio_over_reference); });
  const std::string over = text("/", kContestReference);
  std::string out =
      text("\nGeometric means over the fields that each could compress",
           has_reference ? text("; columns with ", over, ": over those both could") : std::string(),
           "\n");
  out += trimmed(
      text(left("bound", 10), left("codec", 18), right("fields", 8), right("ratio", 9),
           right("compress", 9), right("decompress", 10), right("memcpy", 7), right("kept", 7),
           has_reference ? text(right(text("ratio", over), 10), right(text("compress", over), 12),
                                right(text("decompress", over), 14))
                         : std::string()));
  for (const ContestMean& mean : means) {
    out += text(left(mean.bound, 10), left(mean.codec, 18),
                right(text(mean.fields, " of ", mean.of), 8));
    if (mean.fields == 0) {
      out += "cannot\n";
      continue;
    }
    out += trimmed(text(right(fixed(mean.ratio, 2), 9), right(speed(mean.compress_gb_per_s), 9),
                        right(speed(mean.decompress_gb_per_s), 10),
                        right(fixed(mean.memcpy_gb_per_s, 1), 7), right(text(mean.kept), 7),
                        has_reference ? text(right(times(mean.ratio_over_reference), 10),
                                             right(times(mean.compress_over_reference), 12),
                                             right(times(mean.decompress_over_reference), 14))
                                      : std::string()));
  }
  return out;
}

}  // namespace tensorpress::report
