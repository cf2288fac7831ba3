#include "codecs/dense/interpolation/forward.h"

#include <algorithm>
#include <limits>

namespace tensorpress::dense {

Folding fold(const Shape& shape) {
  constexpr std::size_t kShort = 8;
  std::vector<std::size_t> axes;
  for (const std::uint64_t extent : shape.extents()) {
    if (extent > 1) axes.push_back(static_cast<std::size_t>(extent));
  }
  Folding folding;
  std::size_t kept = axes.size();
  while (kept > 0 && axes[kept - 1] < kShort) --kept;
  if (kept == 0) {  // nothing but short axes
    for (const std::size_t axis : axes) folding.extents[2] *= axis;
    return folding;
  }
  for (std::size_t i = kept; i < axes.size(); ++i) folding.components *= axes[i];
  axes.resize(kept);
  if (folding.components > 1) axes.insert(axes.begin(), folding.components);
  folding.extents[2] = axes.back();
  if (axes.size() > 1) folding.extents[1] = axes[axes.size() - 2];
  for (std::size_t i = 0; i + 2 < axes.size(); ++i) folding.extents[0] *= axes[i];
  return folding;
}

template <class T>
void transpose(const T* from, std::size_t rows, std::size_t columns, T* to) {
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < rows; ++row) *to++ = from[row * columns + column];
  }
}
template void transpose(const float*, std::size_t, std::size_t, float*);
template void transpose(const double*, std::size_t, std::size_t, double*);

template <class T>
std::span<const T> prepare_values(const bounded::Field<T>& field, const Folding& folding,
                                  ChunkWorkspace& workspace) {
  const std::size_t count = field.values.size();
  if (field.holes.empty() && folding.components == 1) return field.values;
  const auto values = workspace.buffers[buffer::kValues].reserve_as<T>(count);
  const std::size_t columns = folding.components, rows = count / columns;
  if (columns == 1) {
    std::copy(field.values.begin(), field.values.end(), values.begin());
  } else {
    transpose(field.values.data(), rows, columns, values.data());
  }
  constexpr T kNothing = std::numeric_limits<T>::quiet_NaN();
  for (const bounded::Hole& hole : field.holes) {
    if (columns == 1) {
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(hole.start), hole.length, kNothing);
      continue;
    }
    for (std::uint64_t i = hole.start; i < hole.start + hole.length; ++i) {
      values[i % columns * rows + i / columns] = kNothing;
    }
  }
  return values;
}
template std::span<const float> prepare_values(const bounded::Field<float>&, const Folding&,
                                               ChunkWorkspace&);
template std::span<const double> prepare_values(const bounded::Field<double>&, const Folding&,
                                                ChunkWorkspace&);

template <class T>
std::vector<ZeroRun> zero_runs(std::span<const T> values) {
  std::vector<ZeroRun> runs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) continue;
    if (!runs.empty() && runs.back().start + runs.back().length == i) {
      ++runs.back().length;
    } else {
      runs.push_back({i, 1});
    }
  }
  return runs;
}
template std::vector<ZeroRun> zero_runs(std::span<const float>);
template std::vector<ZeroRun> zero_runs(std::span<const double>);

void append_zeros(const std::vector<ZeroRun>& runs, std::vector<std::byte>& bytes) {
  append_varint(bytes, runs.size());
  std::uint64_t end = 0;
  for (const ZeroRun& run : runs) {
    append_varint(bytes, run.start - end);
    append_varint(bytes, run.length);
    end = run.start + run.length;
  }
}

template <class T>
void Forward<T>::code_anchors(const Lattice& lattice, const ModelSet<T>& models, const T* originals,
                              T first_value, T* to) {
  const Extents& extent = lattice.extent[lattice.levels];
  const T step = models.anchor_step(lattice);
  const double inverse = 1.0 / static_cast<double>(step);
  steps_.resize(lattice.count(lattice.levels));
  std::int64_t* at = steps_.data();
  // A hole takes the last value before it: interpolation between a coast and nothing would spoil
  // the rows along the coast.
  T present = first_value;
  for (std::size_t z = 0; z < extent[0]; ++z) {
    for (std::size_t y = 0; y < extent[1]; ++y) {
      for (std::size_t x = 0; x < extent[2]; ++x, ++at, ++originals, ++to) {
        const std::int64_t predicted = predict_anchor(at, extent, z, y, x);
        *at = predicted;
        if (!std::isnan(*originals)) present = *originals;
        const double exact = static_cast<double>(present) * inverse;
        if (std::abs(exact) < 0x1p50) {
          constexpr double kRounder = kernels::InterpolationNumbers<double>::kRounder;
          *at = static_cast<std::int64_t>((exact + kRounder) - kRounder);
        }
        *to = anchor_value(*at, step);
        if (std::abs(*originals - *to) > models.bound()) {
          outliers_.push_back({lattice.position(lattice.levels, z, y, x), *originals});
          *at = predicted;
          *to = anchor_value(*at, step);
        }
        const std::uint64_t delta =
            static_cast<std::uint64_t>(*at) - static_cast<std::uint64_t>(predicted);
        append_varint(anchors_, (delta << 1) ^ (0 - (delta >> 63)));
      }
    }
  }
}

template <class T>
bool Forward<T>::run(std::span<const T> values, const Extents& extents,
                     const InterpolationMode& mode, double bound, std::size_t most_outliers) {
  if (extents[2] > std::numeric_limits<std::uint32_t>::max()) return false;  // of RowSpan
  spans_.clear();
  outliers_.clear();
  anchors_.clear();
  const Lattice lattice(extents, mode);
  const ModelSet<T> models(mode, bound, lattice);
  auto& buffers = workspace_.buffers;
  PassBuffers<T> passes(
      buffers[buffer::kPasses].reserve_as<T>(PassBuffers<T>::elements_needed(lattice)), lattice);
  const std::size_t row = extents[2] + 4 * kernels::kRowSlack;
  const auto rows = buffers[buffer::kRow].reserve_as<T>(4 * row);
  const std::size_t padded = lattice.padded_values();
  const auto all_residuals =
      buffers[buffer::kResiduals].reserve_as<std::int32_t>(padded + kernels::kRowSlack);
  const auto all_classes =
      buffers[buffer::kClasses].reserve_as<std::uint8_t>(padded + 2 * kernels::kRowSlack);
  residuals_ = all_residuals.first(padded);
  classes_ = all_classes.first(padded);

  // Every level's originals.
  std::array<const T*, Lattice::kMaxLevels + 1> originals{};
  originals[0] = values.data();
  std::size_t coarser = 0;
  for (int level = 1; level <= lattice.levels; ++level) coarser += lattice.count(level);
  T* to = buffers[buffer::kOriginals].reserve_as<T>(coarser + 4 * kernels::kRowSlack).data();
  for (int level = 1; level <= lattice.levels; ++level) {
    originals[level] = to;
    const Extents &n = lattice.extent[level - 1], &m = lattice.extent[level];
    for (std::size_t z = 0; z < m[0]; ++z) {
      for (std::size_t y = 0; y < m[1]; ++y, to += m[2]) {
        const T* from =
            originals[level - 1] +
            ((lattice.along[0] ? 2 * z : z) * n[1] + (lattice.along[1] ? 2 * y : y)) * n[2];
        if (lattice.along[2]) {
          for (std::size_t x = 0; x < m[2]; ++x) to[x] = from[2 * x];
        } else {
          std::copy_n(from, m[2], to);
        }
      }
    }
  }

  RowEncoder<T> encoder(lattice, models, kernels::interpolation_kernels<T>(workspace_.isa),
                        {rows.first(row),
                         rows.subspan(row, row),
                         {reinterpret_cast<std::uint32_t*>(rows.data() + 2 * row), row},
                         all_residuals,
                         all_classes},
                        spans_, outliers_, most_outliers);
  T* const finest =
      mode.average ? buffers[buffer::kFine].reserve_as<T>(values.size() + 128).data() : nullptr;
  T* coarse = lattice.levels == 0 ? rows.data() + 3 * row : passes.level[lattice.levels];
  if (lattice.levels == 0 && lattice.count(0) > row) return false;
  const auto first = std::find_if(values.begin(), values.end(), [](T v) { return !std::isnan(v); });
  code_anchors(lattice, models, originals[lattice.levels],
               first == values.end() ? static_cast<T>(0) : *first, coarse);
  for (int level = lattice.levels; level >= 1; --level) {
    T* const fine = level > 1 ? passes.level[level - 1] : finest;
    const T* const end = fine == nullptr ? nullptr : fine + lattice.count(level - 1) + 64;
    const T* const originals_end = level > 1 ? originals[level - 1] + lattice.count(level - 1) + 64
                                             : values.data() + values.size();
    encoder.set_originals(originals[level - 1], originals_end);
    LevelPasses<T, RowEncoder<T>> level_passes(lattice, level, mode, passes, fine, end, encoder);
    if (!level_passes.run(coarse)) return false;
    coarse = fine;
  }
  return outliers_.size() <= most_outliers;
}

template class Forward<float>;
template class Forward<double>;

}  // namespace tensorpress::dense
