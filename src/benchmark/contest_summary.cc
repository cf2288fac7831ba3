#include "benchmark/contest_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tensorpress::benchmark {
namespace {

class GeometricMean {
 public:
  void add(double value) {
    sum_ += std::log(value);
    ++count_;
  }
  double value() const {
    return count_ == 0 ? std::numeric_limits<double>::quiet_NaN()
                       : std::exp(sum_ / static_cast<double>(count_));
  }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

void add_once(std::vector<std::string>& list, const std::string& item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

ContestMean mean_of(const std::vector<ContestRow>& rows, const std::string& bound,
                    const std::string& codec, std::string_view reference) {
  ContestMean mean{.codec = codec, .bound = bound};
  GeometricMean ratio, bits, error, compress, decompress, memcpy;
  GeometricMean ratio_over, compress_over, decompress_over;
  double decibels = 0;
  std::size_t inexact = 0;
  for (const ContestRow& row : rows) {
    if (row.codec != codec || row.bound.requested.to_string() != bound) continue;
    ++mean.of;
    mean.lossless = row.lossless;
    if (!row.cannot.empty()) continue;
    ++mean.fields;
    if (row.kept_bound) ++mean.kept;
    ratio.add(row.ratio);
    bits.add(row.bits_per_value);
    compress.add(row.compress_gb_per_s);
    decompress.add(row.decompress_gb_per_s);
    memcpy.add(row.memcpy_gb_per_s);
    if (std::isfinite(row.psnr_db)) {
      decibels += row.psnr_db;
      error.add(row.max_rel_error);
      ++inexact;
    }
    const auto other = std::ranges::find_if(rows, [&](const ContestRow& each) {
      return each.codec == reference && each.field == row.field && each.cannot.empty() &&
             each.bound.requested.to_string() == bound;
    });
    if (other == rows.end()) continue;
    ratio_over.add(row.ratio / other->ratio);
    compress_over.add(row.compress_gb_per_s / other->compress_gb_per_s);
    decompress_over.add(row.decompress_gb_per_s / other->decompress_gb_per_s);
  }
  mean.ratio = ratio.value();
  mean.bits_per_value = bits.value();
  mean.compress_gb_per_s = compress.value();
  mean.decompress_gb_per_s = decompress.value();
  mean.memcpy_gb_per_s = memcpy.value();
  mean.psnr_db = inexact > 0 ? decibels / static_cast<double>(inexact)
                             : std::numeric_limits<double>::infinity();
  mean.max_rel_error = inexact > 0 ? error.value() : 0;
  mean.ratio_over_reference = ratio_over.value();
  mean.compress_over_reference = compress_over.value();
  mean.decompress_over_reference = decompress_over.value();
  return mean;
}

}  // namespace

std::vector<ContestMean> means_of(const std::vector<ContestRow>& rows, std::string_view reference) {
  std::vector<std::string> bounds, codecs;
  for (const ContestRow& row : rows) {
    add_once(bounds, row.bound.requested.to_string());
    add_once(codecs, row.codec);
  }
  std::vector<ContestMean> means;
  for (const std::string& bound : bounds) {
    for (const std::string& codec : codecs) means.push_back(mean_of(rows, bound, codec, reference));
  }
  return means;
}

}  // namespace tensorpress::benchmark
