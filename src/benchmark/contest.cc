#include "benchmark/contest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#ifdef __GLIBC__
#  include <malloc.h>
#endif

#include "base/errors.h"
#include "benchmark/stopwatch.h"
#include "metrics/metrics.h"

namespace tensorpress::benchmark {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
void look_at_values(std::span<const T> values, LoadedField& field) {
  double low = kInfinity, high = -kInfinity;
  for (const T value : values) {
    if (!std::isfinite(value)) {
      field.has_nonfinite = true;
      continue;
    }
    const bool is_fill = std::ranges::any_of(
        field.fill_values, [value](double fill) { return static_cast<T>(fill) == value; });
    if (is_fill) continue;
    low = std::min(low, static_cast<double>(value));
    high = std::max(high, static_cast<double>(value));
  }
  if (low <= high) {
    field.minimum = low;
    field.maximum = high;
  }
}

/// The best times of one contender so far.
struct Standing {
  double compress = kInfinity;
  double decompress = kInfinity;
  std::string cannot;
};

Result<void> run_turn(Contender& contender, std::span<std::byte> output, Standing& standing) {
  TRY(const double packing, contender.compress());
  TRY(const double unpacking, contender.decompress(output));
  standing.compress = std::min(standing.compress, packing);
  standing.decompress = std::min(standing.decompress, unpacking);
  return {};
}

/// Once more, untimed: the copy is compared.
Result<void> judge(Contender& contender, const LoadedField& field, std::span<std::byte> output,
                   ContestRow& row) {
  std::ranges::fill(output, std::byte{0});
  TRY([[maybe_unused]] const double seconds, contender.decompress(output));
  TRY(row.bytes_out, contender.compressed_bytes());
  const auto copy = TensorView::contiguous(output.data(), field.view.dtype, field.view.shape);
  TRY(const auto errors, metrics::compare(field.view, copy));
  const double range = field.value_range();
  const double rmse = errors.rmse();
  row.ratio = static_cast<double>(row.bytes_in) / static_cast<double>(row.bytes_out);
  row.bits_per_value =
      8 * static_cast<double>(row.bytes_out) / static_cast<double>(field.view.element_count());
  row.max_abs_error = errors.max_abs_error;
  row.max_rel_error = errors.max_abs_error == 0 ? 0 : errors.max_abs_error / range;
  row.nrmse = rmse == 0 ? 0 : rmse / range;
  row.psnr_db = rmse == 0 ? kInfinity : 20 * std::log10(range / rmse);
  row.kept_bound = errors.max_abs_error <= row.bound.absolute && errors.mismatched_nonfinite == 0;
  return {};
}

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
  // NOLINTBEGIN(concurrency-mt-unsafe): called before anything is measured, on the only thread.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TOP_PAD, 64 << 20);
  // NOLINTEND(concurrency-mt-unsafe)
#endif
}

Result<FieldBound> LoadedField::resolve(const Bound& bound) const {
  RETURN_IF_ERROR(bound.check());
  if (bound.kind() == Bound::Kind::absolute) return FieldBound{bound, bound.value()};
  if (bound.kind() == Bound::Kind::relative) {
    return FieldBound{bound, bound.value() * value_range()};
  }
  return bad_argument("the bound ", bound.to_string(), " cannot be given to other compressors");
}

Result<LoadedField> load_field(std::string name, const TensorView& view,
                               std::vector<double> fill_values) {
  if (view.dtype != DType::f32 && view.dtype != DType::f64) {
    return unsupported(name, " has elements of type ", name_of(view.dtype),
                       "; fields to compare are f32 or f64");
  }
  LoadedField field{
      .name = std::move(name), .memory = {}, .view = {}, .fill_values = std::move(fill_values)};
  const auto memory = field.memory.reserve(static_cast<std::size_t>(view.byte_count()));
  const auto copy = MutableTensorView::contiguous(memory.data(), view.dtype, view.shape);
  copy_elements(view, copy);
  field.view = copy;
  const auto count = static_cast<std::size_t>(view.element_count());
  if (view.dtype == DType::f32) {
    look_at_values(std::span(reinterpret_cast<const float*>(memory.data()), count), field);
  } else {
    look_at_values(std::span(reinterpret_cast<const double*>(memory.data()), count), field);
  }
  return field;
}

std::vector<ContestRow> run_contest(const LoadedField& field, const FieldBound& bound,
                                    std::span<const std::unique_ptr<Contender>> contenders,
                                    const ContestOptions& options) {
  const auto bytes = static_cast<std::size_t>(field.view.byte_count());
  AlignedBuffer memory;
  const auto output = memory.reserve(bytes);
  std::ranges::fill(output, std::byte{1});
  const Field given{
      .view = field.view, .fill_values = field.fill_values, .has_nonfinite = field.has_nonfinite};

  std::vector<Standing> standings(contenders.size());
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto ready = contenders[i]->prepare(given, bound);
    if (!ready.ok()) standings[i].cannot = ready.error().message;
  }
  double copying = kInfinity;
  double total = 0;
  for (int turn = 0; turn < options.repetitions ||
                     (total < options.least_seconds && turn < 10 * options.repetitions);
       ++turn) {
    total += seconds_of([&] {
      for (std::size_t i = 0; i < contenders.size(); ++i) {
        if (!standings[i].cannot.empty()) continue;
        copying = std::min(copying, seconds_of([&] {
                             if (bytes > 0) std::memcpy(output.data(), field.view.data, bytes);
                           }));
        const auto ran = run_turn(*contenders[i], output, standings[i]);
        if (!ran.ok()) standings[i].cannot = ran.error().message;
      }
    });
  }

  std::vector<ContestRow> rows;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    ContestRow row{.field = field.name,
                   .codec = contenders[i]->name(),
                   .bound = bound,
                   .lossless = contenders[i]->lossless(),
                   .cannot = standings[i].cannot,
                   .bytes_in = bytes};
    if (row.cannot.empty()) {
      const auto judged = judge(*contenders[i], field, output, row);
      if (!judged.ok()) row.cannot = judged.error().message;
      const double gigabytes = static_cast<double>(bytes) / 1e9;
      row.compress_gb_per_s = gigabytes / standings[i].compress;
      row.decompress_gb_per_s = gigabytes / standings[i].decompress;
      row.memcpy_gb_per_s = gigabytes / copying;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tensorpress::benchmark
