#include "codecs/dense/interpolation/mode.h"

#include <algorithm>
#include <cmath>

namespace tensorpress::dense {
namespace {

// gradient, curvature / 16, above, behind, floor: in steps.
struct Weights {
  float gradient, curvature, above, behind, floor;
};
constexpr std::array<Weights, kWeightSets> kWeights = {{
    {0.04f, 0.1f, 0.4f, 0.3f, 0.004f},
    {0.01f, 0.25f, 0.4f, 0.3f, 0.004f},
    {0.12f, 0.0f, 0.1f, 0.1f, 0.002f},
}};
constexpr std::array<float, 4> kTighter = {1.0f, 1.5f, 2.25f, 3.0f};
constexpr std::array<float, 4> kTighterStencils = {1.0f, 1.25f, 1.5f, 2.0f};

}  // namespace

float StencilScale::floor_value() const {
  return static_cast<float>((16u + (floor & 15u)) << (floor >> 4)) * 0x1p-12f;
}

bool InterpolationMode::has_feedback() const {
  return std::any_of(feedback.begin(), feedback.end(), [](std::int8_t f) { return f != 0; });
}

bool suits_stencils(const InterpolationMode& mode, const Extents& extents) {
  constexpr std::size_t kLeast = 8;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (mode.along[axis] && extents[axis] < kLeast) return false;
  }
  return !mode.average && !mode.has_feedback();
}

template <class T>
kernels::InterpolationModel<T> model_of(const InterpolationMode& mode, double bound, int level,
                                        std::size_t group, bool has_planes) {
  const StencilScale& scale = mode.scales[group];
  const Weights weights = mode.stencils
                              ? Weights{0, 16 * scale.curvature_weight(), scale.above_weight(),
                                        scale.behind_weight(), scale.floor_value()}
                              : kWeights[mode.weights % kWeightSets];
  kernels::InterpolationModel<T> model;
  model.step = static_cast<T>(2 * bound * (1 - mode.shrink / 4096.0));
  if (mode.tighten) {
    const auto& tighter = mode.stencils ? kTighterStencils : kTighter;
    model.step /= static_cast<T>(tighter[static_cast<std::size_t>(std::min(level - 1, 3))]);
  }
  model.inverse_step = static_cast<T>(1) / model.step;
  model.cubic = mode.cubic ? static_cast<T>(0.0625f) : static_cast<T>(0);
  model.feedback = static_cast<T>(mode.feedback[group]) * static_cast<T>(0.0625f);
  model.gradient = static_cast<T>(weights.gradient) * model.inverse_step;
  model.curvature = static_cast<T>(weights.curvature * 0.0625f) * model.inverse_step;
  model.above = static_cast<T>(weights.above * 0.25f);
  model.behind = has_planes ? static_cast<T>(weights.behind * 0.25f) : static_cast<T>(0);
  model.floor = static_cast<T>(weights.floor);
  // A difference that rounds to at most this is less than the bound itself.
  const T nearest = static_cast<T>(bound);
  model.bound = std::nextafter(std::nextafter(nearest, static_cast<T>(0)), static_cast<T>(0));
  model.first_class = kernels::kFirstClassBits + 2 * std::int32_t{mode.raise};
  model.keep_zeros = mode.keep_zeros;
  return model;
}

template kernels::InterpolationModel<float> model_of(const InterpolationMode&, double, int,
                                                     std::size_t, bool);
template kernels::InterpolationModel<double> model_of(const InterpolationMode&, double, int,
                                                      std::size_t, bool);

}  // namespace tensorpress::dense
