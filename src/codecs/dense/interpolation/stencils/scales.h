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

class ScaleFit {
 public:
  explicit ScaleFit(Isa isa) : add_products_(kernels::stencil_kernels<float>(isa).add_products) {}

  /// Before a row is quantized: what its scales are made of.
  template <class T>
  void see(const RowJob<T>& job, const kernels::InterpolationModel<T>& model);
  /// After that, the same row's residuals.
  void add(std::size_t group, const std::int32_t* residuals, std::size_t count);

  /// Groups with few samples keep what they have.
  void fit(std::array<StencilScale, kRowGroups>& scales) const;
  /// The samples in the classes that such scales put them into.
  ResidualHistogram histogram(const std::array<StencilScale, kRowGroups>& scales,
                              std::uint8_t raise) const;

 private:
  struct Samples {
    std::array<std::vector<float>, kScaleParts - 1> parts;  // all but the floor, which is 1
    std::vector<std::uint32_t> sizes;
    std::size_t skipped = 0;  // values of the next row before its first sample
  };
  StencilScale fitted(const Samples& samples, const StencilScale& start) const;

  decltype(kernels::StencilKernels<float>::add_products) add_products_;
  std::array<Samples, kRowGroups> samples_;
};

}  // namespace tensorpress::dense
