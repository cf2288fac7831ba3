#include "codecs/dense/interpolation/forward.h"

#include <algorithm>
#include <limits>

#include "codecs/dense/interpolation/stencils/fit.h"

namespace tensorpress::dense {

template <class T>
bool Forward<T>::run(std::span<const T> values, const Extents& extents,
                     const InterpolationMode& mode, double bound, std::size_t most_outliers) {
  if (extents[2] > std::numeric_limits<std::uint32_t>::max()) return false;  // of RowSpan
  spans_.clear();
  outliers_.clear();
  anchors_.clear();
  stencils_ = {};
  stencils_.reach = fitting_.reach;
  const Lattice lattice(extents, mode.along, mode.level_limit);
  const ModelSet<T> models(mode, bound, lattice);
  auto& shared = workspace_.memory.of<PredictorBuffers>();
  auto& buffers = workspace_.memory.of<InterpolationBuffers>();
  PassBuffers<T> passes(buffers.passes.reserve_as<T>(PassBuffers<T>::elements_needed(lattice)),
                        lattice);
  const std::size_t row = extents[2] + 4 * kernels::kRowSlack;
  const auto rows = buffers.rows.reserve_as<T>(4 * row);
  const std::size_t padded = padded_values(lattice);
  const auto all_residuals = shared.residuals.reserve_as<std::int32_t>(padded + kernels::kRowSlack);
  const auto all_classes = shared.classes.reserve_as<std::uint8_t>(padded + 2 * kernels::kRowSlack);
  residuals_ = all_residuals.first(padded);
  classes_ = all_classes.first(padded);

  // Every level's originals.
  std::array<const T*, Lattice::kMaxLevels + 1> originals{};
  originals[0] = values.data();
  std::size_t coarser = 0;
  for (int level = 1; level <= lattice.levels; ++level) coarser += lattice.count(level);
  T* to = buffers.originals.reserve_as<T>(coarser + 4 * kernels::kRowSlack).data();
  for (int level = 1; level <= lattice.levels; ++level) {
    originals[level] = to;
    take_coarser(lattice, level, originals[level - 1], to);
    to += lattice.count(level);
  }

  RowEncoder<T> encoder(lattice, models, kernels::interpolation_kernels<T>(workspace_.isa),
                        {rows.first(row),
                         rows.subspan(row, row),
                         {reinterpret_cast<std::uint32_t*>(rows.data() + 2 * row), row},
                         all_residuals,
                         all_classes},
                        spans_, outliers_, most_outliers);
  encoder.set_scale_fit(scale_fit_);
  const bool needs_finest = mode.average || (keeps_values_ && lattice.levels > 0);
  T* const finest =
      needs_finest ? shared.values.reserve_as<T>(values.size() + 128).data() : nullptr;
  values_ = finest == nullptr ? std::span<T>() : std::span(finest, values.size());
  T* coarse = lattice.levels == 0 ? rows.data() + 3 * row : passes.level[lattice.levels];
  if (lattice.levels == 0 && lattice.count(0) > row) return false;
  const auto first = std::find_if(values.begin(), values.end(), [](T v) { return !std::isnan(v); });
  code_anchors(lattice, models.anchor_step(lattice), models.bound(), originals[lattice.levels],
               first == values.end() ? static_cast<T>(0) : *first, coarse, anchors_, outliers_);
  const auto& stencil_kernels = kernels::stencil_kernels<T>(workspace_.isa);
  StencilMemory<T> grids;
  if (mode.stencils) grids = stencil_memory<T>(lattice, shared, buffers);
  FittedWeights<T> fitted(stencils_, fitting_.samples, stencil_kernels);
  if (weights_ != nullptr) stencils_ = *weights_;
  const StoredWeights<T> stored(stencils_);
  for (int level = lattice.levels; level >= 1; --level) {
    T* const fine = level > 1 ? passes.level[level - 1] : finest;
    const T* const end = fine == nullptr ? nullptr : fine + lattice.count(level - 1) + 64;
    const T* const originals_end = level > 1 ? originals[level - 1] + lattice.count(level - 1) + 64
                                             : values.data() + values.size();
    encoder.set_originals(originals[level - 1], originals_end);
    if (mode.stencils) {
      const auto run_with = [&]<class Source>(Source& source) {
        StencilPasses<T, RowEncoder<T>, Source> stencil_passes(
            lattice, level, mode, stencils_.reach, passes, grids, stencil_kernels, encoder, source);
        return stencil_passes.run(coarse, fine);
      };
      fitted.set_originals(originals[level - 1], models.of(level, 0).step);
      const bool done = weights_ == nullptr ? run_with(fitted) : run_with(stored);
      if (!done) return false;
      coarse = fine;
      continue;
    }
    LevelPasses<T, RowEncoder<T>> level_passes(lattice, level, mode, passes, fine, end, encoder);
    if (!level_passes.run(coarse)) return false;
    coarse = fine;
  }
  return outliers_.size() <= most_outliers;
}

template class Forward<float>;
template class Forward<double>;

}  // namespace tensorpress::dense
