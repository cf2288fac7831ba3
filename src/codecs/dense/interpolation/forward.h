// The encoder's way through a chunk or a sample of one: predict, quantize, reconstruct, level by
// level; collects residuals, classes, the coarsest values and outliers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/interpolation/rows.h"
#include "codecs/dense/interpolation/stencils/passes.h"
#include "codecs/dense/lattice/anchors.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/predictor_buffers.h"
#include "codecs/dense/varint.h"

namespace tensorpress::dense {

/// What the interpolating coder keeps between chunks beside PredictorBuffers, for the encoder and
/// the decoder.
struct InterpolationBuffers {
  AlignedBuffer passes;     // reconstructed values of the coarser levels
  AlignedBuffer rows;       // one row, or the encoder's four
  AlignedBuffer originals;  // of the coarser levels
  AlignedBuffer values;     // the decoder's, to be unfolded
  AlignedBuffer sample;
  AlignedBuffer sizes;
  AlignedBuffer predicted;  // rows of stencils
};

template <class T>
StencilMemory<T> stencil_memory(const Lattice& lattice, PredictorBuffers& shared,
                                InterpolationBuffers& buffers) {
  const std::size_t elements = grid_elements(lattice);
  return {shared.contexts.reserve_as<T>(elements), buffers.sizes.reserve_as<std::uint8_t>(elements),
          buffers.predicted.reserve_as<T>(StencilMemory<T>::predicted_elements(lattice))};
}

/// How stencils are fitted.
struct StencilFitting {
  std::size_t samples = 8192;  // of a class
  StencilReach reach = StencilReach::fourteen;
};

template <class T>
class Forward {
 public:
  explicit Forward(ChunkWorkspace& workspace) : workspace_(workspace) {}

  /// NaN marks values that need not be kept. False when more than `most_outliers` were met.
  bool run(std::span<const T> values, const Extents& extents, const InterpolationMode& mode,
           double bound, std::size_t most_outliers);

  void set_fitting(const StencilFitting& fitting) { fitting_ = fitting; }
  /// Later runs take these weights instead of fitting their own; nullptr: no longer.
  void set_weights(const StencilSet* weights) { weights_ = weights; }
  /// Later runs keep the chunk as a decoder will have it, but for its outliers.
  void keep_values() { keeps_values_ = true; }
  /// Of the last run with keep_values; none where there is but one level.
  std::span<T> values() const { return values_; }
  /// Shows the rows of later runs, all with stencils, to `fit`; nullptr: no longer.
  void set_scale_fit(ScaleFit* fit) { scale_fit_ = fit; }

  /// Of all rows, each padded to whole groups of rANS (with residuals 0).
  std::span<std::int32_t> residuals() const { return residuals_; }
  std::span<std::uint8_t> classes() const { return classes_; }
  const std::vector<RowSpan>& spans() const { return spans_; }
  std::vector<Outlier<T>>& outliers() { return outliers_; }
  const std::vector<std::byte>& anchors() const { return anchors_; }  // varints
  const StencilSet& stencils() const { return stencils_; }            // of a mode with stencils

 private:
  ChunkWorkspace& workspace_;
  std::span<std::int32_t> residuals_;
  std::span<std::uint8_t> classes_;
  std::vector<RowSpan> spans_;
  std::vector<Outlier<T>> outliers_;
  std::vector<std::byte> anchors_;
  StencilSet stencils_;
  StencilFitting fitting_;
  bool keeps_values_ = false;
  std::span<T> values_;
  const StencilSet* weights_ = nullptr;
  ScaleFit* scale_fit_ = nullptr;
};

}  // namespace tensorpress::dense
