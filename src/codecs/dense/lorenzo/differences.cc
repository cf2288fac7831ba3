#include "codecs/dense/lorenzo/differences.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "codecs/dense/lorenzo/buffers.h"
#include "codecs/dense/varint.h"
#include "kernels/lorenzo/lorenzo_row.h"

namespace tensorpress::dense {
namespace {

constexpr std::size_t kLeadingQuanta = 16;  // zeros before the first: its outlier takes one

struct Outliers {
  std::span<std::uint32_t> indices;
  std::size_t count = 0;
};

// Quanta and differences strip by strip, while they are in cache. False: too many outliers.
template <class T>
bool narrow_differences(const bounded::Field<T>& field, double bound, const LorenzoPlan& plan,
                        ChunkWorkspace& workspace, std::span<std::int32_t> d, Outliers& outliers) {
  const auto kernels = kernels::lorenzo_kernels(workspace.isa);
  const Fold fold = fold_of(field.shape);
  const auto quantizer = quantizer_of<T>(bound, plan.step);
  const auto memory = workspace.memory.of<PredictorBuffers>().values.reserve_as<std::int32_t>(
      fold.count() + kLeadingQuanta);
  std::fill_n(memory.begin(), kLeadingQuanta, 0);
  std::int32_t* const q = memory.data() + kLeadingQuanta;
  const std::size_t strip = std::max<std::size_t>(1, kStripValues / fold.nx);
  for (std::size_t row = 0; row < fold.rows(); row += strip) {
    const std::size_t rows = std::min(strip, fold.rows() - row);
    const std::size_t at = row * fold.nx;
    outliers.count += kernels::conversions_of<T>(kernels).quantize(
        field.values.data() + at, rows * fold.nx, quantizer, q + at, static_cast<std::uint32_t>(at),
        outliers.indices.data() + outliers.count, outliers.indices.size() - outliers.count);
    if (outliers.count > outliers.indices.size()) return false;
    for (std::size_t r = row; r < row + rows; ++r) {
      const std::size_t start = r * fold.nx;
      kernels.difference(q + start, d.data() + start, fold.nx,
                         neighbours(fold, plan.axes, r, q + start));
    }
  }
  return true;
}

template <class T>
bool wide_differences(const bounded::Field<T>& field, double bound, const LorenzoPlan& plan,
                      ChunkWorkspace& workspace, std::span<std::int64_t> d, Outliers& outliers) {
  const Fold fold = fold_of(field.shape);
  const auto quantizer = quantizer_of<double>(bound, plan.step);
  const auto memory = workspace.memory.of<PredictorBuffers>().values.reserve_as<std::int64_t>(
      fold.count() + kLeadingQuanta);
  std::fill_n(memory.begin(), kLeadingQuanta, 0);
  std::int64_t* const q = memory.data() + kLeadingQuanta;
  for (std::size_t row = 0; row < fold.rows(); ++row) {
    const std::size_t start = row * fold.nx;
    for (std::size_t i = start; i < start + fold.nx; ++i) {
      if (quantize_wide(field.values[i], quantizer, q[i])) continue;
      q[i] = *(q + i - 1);
      if (outliers.count == outliers.indices.size()) return false;
      outliers.indices[outliers.count++] = static_cast<std::uint32_t>(i);
    }
    kernels::lorenzo::difference_row(q + start, d.data() + start, 0, fold.nx,
                                     neighbours(fold, plan.axes, row, q + start));
  }
  return true;
}

// What decoders need of a wide difference beside its 32 upper bits: enough for the largest to fit,
// and so many that most need no more than the raw bits of the largest scale.
int wide_shift(std::span<const std::int64_t> d) {
  std::uint64_t all = 0;
  double sum = 0;
  for (const std::int64_t value : d) {
    const std::uint64_t magnitude = zigzag64(value) >> 1;
    all |= magnitude;
    sum += static_cast<double>(magnitude);
  }
  const auto mean = static_cast<std::uint64_t>(sum / static_cast<double>(d.size()));
  return std::max(
      {0, static_cast<int>(std::bit_width(all)) - 31, static_cast<int>(std::bit_width(mean)) - 20});
}

}  // namespace

template <class T>
std::optional<LorenzoDifferences> lorenzo_differences(const bounded::Field<T>& field, double bound,
                                                      const LorenzoPlan& plan,
                                                      ChunkWorkspace& workspace) {
  const std::size_t count = field.values.size();
  auto& buffers = workspace.memory.of<LorenzoBuffers>();
  Outliers outliers;
  outliers.indices = buffers.outliers.reserve_as<std::uint32_t>(count / 8 + 16);
  LorenzoDifferences result;
  const auto d = workspace.memory.of<PredictorBuffers>().residuals.reserve_as<std::int32_t>(
      (count + 31) / 32 * 32);
  std::fill(d.begin() + static_cast<std::ptrdiff_t>(count), d.end(), 0);
  if (plan.wide) {
    const auto wide = buffers.wide_differences.reserve_as<std::int64_t>(count);
    if (!wide_differences(field, bound, plan, workspace, wide, outliers)) return std::nullopt;
    result.first = std::exchange(wide[0], 0);
    result.shift = wide_shift(wide);
    for (std::size_t i = 0; i < count; ++i) {
      d[i] = static_cast<std::int32_t>(wide[i] >> result.shift);
    }
    result.wide = wide;
  } else {
    if (!narrow_differences(field, bound, plan, workspace, d, outliers)) return std::nullopt;
    result.first = std::exchange(d[0], 0);
  }
  result.values = d;
  result.outliers = outliers.indices.first(outliers.count);
  return result;
}

template std::optional<LorenzoDifferences> lorenzo_differences(const bounded::Field<float>&, double,
                                                               const LorenzoPlan&, ChunkWorkspace&);
template std::optional<LorenzoDifferences> lorenzo_differences(const bounded::Field<double>&,
                                                               double, const LorenzoPlan&,
                                                               ChunkWorkspace&);

}  // namespace tensorpress::dense
