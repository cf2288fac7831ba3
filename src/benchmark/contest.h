// The comparison behind `bench --peers`: all contenders on one field with one bound, in turns, each
// turn with a memcpy before it; the best turn counts. Every copy is compared with the original
// element by element, in double.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmark/contender.h"
#include "tensorpress/aligned_buffer.h"

namespace tensorpress::benchmark {

/// A field in memory, contiguous.
struct LoadedField {
  std::string name;
  AlignedBuffer memory;
  TensorView view;
  std::vector<double> fill_values;
  bool has_nonfinite = false;
  double minimum = 0;  // of finite values that are not fill values
  double maximum = 0;

  double value_range() const { return maximum - minimum; }
  /// Absolute bounds as they are, relative ones times the value range; no other kinds.
  Result<FieldBound> resolve(const Bound& bound) const;
};

/// Copies the tensor and looks at its values. f32 and f64 only.
Result<LoadedField> load_field(std::string name, const TensorView& view,
                               std::vector<double> fill_values = {});

/// One contender on one field; names as everywhere (DESIGN: one statistic, one name).
struct ContestRow {
  std::string field = {};
  std::string codec = {};
  FieldBound bound = {};
  std::size_t threads = 1;
  bool lossless = false;
  std::string cannot = {};  // why there are no figures; "" when there are
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  double ratio = 0;
  double bits_per_value = 0;
  double max_abs_error = 0;
  double max_rel_error = 0;
  double psnr_db = 0;
  double nrmse = 0;
  double compress_gb_per_s = 0;
  double decompress_gb_per_s = 0;
  double memcpy_gb_per_s = 0;
  bool kept_bound = false;
};

struct ContestOptions {
  int repetitions = 7;       // turns at least
  double least_seconds = 1;  // small fields get more turns, up to ten times as many
};

/// Peers allocate as they go. From here on the process keeps freed memory, so that they are not
/// charged for fresh pages in every turn; our own contenders have their buffers beforehand.
void keep_freed_memory();

/// A row for every contender, in their order.
std::vector<ContestRow> run_contest(const LoadedField& field, const FieldBound& bound,
                                    std::span<const std::unique_ptr<Contender>> contenders,
                                    const ContestOptions& options);

}  // namespace tensorpress::benchmark
