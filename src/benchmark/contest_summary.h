// Geometric means over fields, for the end of a comparison.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "benchmark/contest.h"

namespace tensorpress::benchmark {

/// One contender at one bound over all fields that it could compress.
struct ContestMean {
  std::string codec;
  std::string bound;
  bool lossless = false;
  std::size_t fields = 0;  // that it could compress
  std::size_t of = 0;      // that there were
  std::size_t kept = 0;    // on which it kept the bound
  double ratio = 0;        // geometric means
  double bits_per_value = 0;
  double compress_gb_per_s = 0;
  double decompress_gb_per_s = 0;
  double memcpy_gb_per_s = 0;
  /// Arithmetic, since decibels are logarithms already; over the copies that are not exact,
  /// infinite when all are.
  double psnr_db = 0;
  double max_rel_error = 0;  // geometric, over the copies that are not exact; 0 when all are
  // Against the reference on the fields that both could compress; NaN without any.
  double ratio_over_reference = 0;
  double compress_over_reference = 0;
  double decompress_over_reference = 0;
};

/// In the order of first appearance: bounds, and contenders within each.
std::vector<ContestMean> means_of(const std::vector<ContestRow>& rows, std::string_view reference);

}  // namespace tensorpress::benchmark
