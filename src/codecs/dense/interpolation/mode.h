// How one chunk is interpolated: what the chooser chooses and the chunk's header says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "codecs/dense/lattice/lattice.h"
#include "codecs/dense/residuals/coding.h"
#include "codecs/dense/residuals/map.h"
#include "kernels/interpolation/interpolation.h"

namespace tensorpress::dense {

inline constexpr std::size_t kWeightSets = 3;

/// What the scale of a residual is made of in a chunk with stencils, as a byte each.
struct StencilScale {
  std::uint8_t curvature = 12, above = 45, behind = 45, beside = 25;  // in 1/128
  std::uint8_t floor = 64;  // bits 4-7 an exponent, 0-3 a mantissa

  float curvature_weight() const { return curvature * 0.0078125f; }
  float above_weight() const { return above * 0.0078125f; }
  float behind_weight() const { return behind * 0.0078125f; }
  float beside_weight() const { return beside * 0.0078125f; }
  float floor_value() const;
};

/// Rows are grouped by the pass they belong to; each group has its own tables and feedback. On the
/// finest level a group is an axis (z y x), then come the second level and all above.
struct InterpolationMode {
  std::array<bool, 3> along = {true, true, true};  // z y x
  bool cubic = true;
  bool average = false;  // over all axes along which both neighbours are known
  bool tighten = false;  // smaller bounds on coarse levels
  bool keep_zeros = false;
  std::uint8_t weights = 0;
  std::uint8_t level_limit = 0;  // of kLevelLimits
  std::uint8_t raise = 0;        // octaves by which the first class lies higher
  std::uint8_t shrink = 0;       // the step is 2 bound (1 - shrink / 4096): room for rounding
  std::array<std::int8_t, kRowGroups> feedback{};  // sixteenths
  bool stencils = false;  // fitted to the chunk when it is written, instead of all of the above
  std::array<StencilScale, kRowGroups> scales{};  // of chunks with stencils
  // How many samples of each class stencils are fitted to (an encoder's): twice as many gain less
  // than half a percent.
  std::uint32_t fit_samples = 8192;
  // Stencils of twice as many points, in chunks that earn their weights (an encoder's).
  bool wide_stencils = false;
  std::uint32_t rare = kRare;  // for adaptive coding (an encoder's)

  bool has_feedback() const;
};

/// Whether a chunk of these extents can have stencils in this mode: axes must not be all margin.
bool suits_stencils(const InterpolationMode& mode, const Extents& extents);

/// The model of a level (1 is the finest) and group.
template <class T>
kernels::InterpolationModel<T> model_of(const InterpolationMode& mode, double bound, int level,
                                        std::size_t group, bool has_planes);

}  // namespace tensorpress::dense
