#include "benchmark/studies/delta_counts.h"

#include <cmath>
#include <limits>

#include "base/errors.h"
#include "codecs/ceresz/chunk_shape.h"
#include "codecs/ceresz2/ceresz2.h"
#include "kernels/value_scan/value_scan.h"
#include "stream/bounds/survey.h"
#include "stream/chunks/chunk_grid.h"

namespace tensorpress::benchmark {
namespace {

constexpr std::uint64_t kChunkValues = std::uint64_t{1} << 16;

Result<stream::ChunkGrid> grid_of(const Shape& shape) {
  return stream::ChunkGrid::make(shape, ceresz::consecutive_chunk_shape(shape, kChunkValues));
}

/// Visits the file's chunks as contiguous values that may be changed.
template <class T, class Visit>
Result<void> for_each_chunk(TensorSource& source, const Visit& visit) {
  if (source.shape().element_count() == 0) return {};
  TRY(const auto grid, grid_of(source.shape()));
  AlignedBuffer scratch;
  std::vector<T> values;
  for (std::uint64_t i = 0; i < grid.chunk_count(); ++i) {
    const Region region = grid.region(i);
    TRY(const TensorView view, source.read(region, scratch));
    values.resize(static_cast<std::size_t>(region.extent.element_count()));
    copy_elements(view, MutableTensorView::contiguous(reinterpret_cast<std::byte*>(values.data()),
                                                      view.dtype, region.extent));
    visit(std::span<T>(values));
  }
  return {};
}

template <class T>
Result<void> count_file(const std::string& path, TensorSource& source, const DeltaOptions& options,
                        DeltaDistribution& into) {
  const std::vector<T> fills(options.fill_values.begin(), options.fill_values.end());
  const auto is_hole = [&](T value) { return kernels::is_special<T>(value, fills); };
  TRY(const auto execution, stream::Execution::on({}, 1));
  TRY(const auto grid, grid_of(source.shape()));
  TRY(const auto survey, stream::survey_values(source, grid, options.fill_values, execution));
  if (!survey.has_values) return bad_argument(path, " holds no values to learn from");
  const double bound =
      options.relative ? options.bound * (survey.range.high - survey.range.low) : options.bound;
  if (!(bound >= static_cast<double>(std::numeric_limits<T>::min()))) {
    return bad_argument(path, " is constant, so a relative bound is nothing; use `absolute`");
  }
  RETURN_IF_ERROR(for_each_chunk<T>(source, [&](std::span<T> values) {
    T before = 0;
    for (const T value : values) {
      if (is_hole(value)) continue;
      before = value;
      break;
    }
    for (T& value : values) {
      if (is_hole(value)) value = before;
      before = value;
    }
    ceresz2::count_deltas(bounded::Field<T>{values, Shape{values.size()}}, bound, into.counts);
    into.values += values.size();
  }));
  return {};
}

}  // namespace

Result<DeltaDistribution> count_deltas_of_files(const std::string& name,
                                                const std::vector<std::string>& files,
                                                const DeltaOptions& options) {
  if (!(options.bound > 0) || std::isinf(options.bound)) {
    return bad_argument("a bound of ", options.bound, "; it must be positive and finite");
  }
  DeltaDistribution set{.name = name, .counts = ceresz2::DeltaCounts(options.symbols)};
  std::optional<DType> dtype;
  for (const std::string& path : files) {
    const bool npy = path.ends_with(".npy");
    TRY(const auto source, files::open_tensor(path, npy ? std::nullopt : options.raw));
    if (!source->random_access()) {
      return bad_argument("codebooks read their data twice, and a pipe gives it once; give a file");
    }
    if (dtype.value_or(source->dtype()) != source->dtype()) {
      return bad_argument("the fields of ", name, " differ in type: ", path, " is ",
                          name_of(source->dtype()));
    }
    dtype = source->dtype();
    if (dtype == DType::f32) {
      RETURN_IF_ERROR(count_file<float>(path, *source, options, set));
    } else if (dtype == DType::f64) {
      RETURN_IF_ERROR(count_file<double>(path, *source, options, set));
      set.element_bits = 64;
    } else {
      return unsupported(path, " is ", name_of(*dtype), "; codebooks are learned from f32 or f64");
    }
  }
  return set;
}

}  // namespace tensorpress::benchmark
