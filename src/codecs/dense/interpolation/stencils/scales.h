// Fits what the scales of residuals are made of, from rows as they are coded.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codecs/dense/interpolation/passes.h"

namespace tensorpress::dense {

/// curvature, above, behind, beside, floor: as the kernels see them, weights apart.
inline constexpr std::size_t kScaleParts = 5;
using ScaleParts = std::array<float, kScaleParts>;

class ScaleFit {
 public:
  /// Before a row is quantized: what its scales are made of.
  template <class T>
  void see(const RowJob<T>& job, const kernels::InterpolationModel<T>& model, const T* predictions);
  /// After that, the same row's residuals.
  void add(std::size_t group, const std::int32_t* residuals, std::size_t count);

  /// Groups with few samples keep what they have.
  void fit(std::array<StencilScale, kRowGroups>& scales) const;

 private:
  struct Sample {
    ScaleParts parts;
    float size;
  };
  std::array<std::vector<Sample>, kRowGroups> samples_;
  std::vector<ScaleParts> row_;
};

}  // namespace tensorpress::dense
