#include "codecs/dense/interpolation/stencils/scales.h"

#include <algorithm>
#include <cmath>

namespace tensorpress::dense {
namespace {

constexpr std::size_t kFewest = 400;  // samples of a group
// The finest level, whose groups come first, has more than enough values.
constexpr std::size_t sampling_of(std::size_t group) {
  return group < 3 ? 4 : 1;
}
using Numbers = std::array<double, kScaleParts>;
using Matrix = std::array<Numbers, kScaleParts>;

// Solves a symmetric positive system without the parts that `used` leaves out.
Numbers solve(Matrix a, Numbers b, const std::array<bool, kScaleParts>& used) {
  for (std::size_t i = 0; i < kScaleParts; ++i) a[i][i] += 1e-6 * a[i][i];
  const auto skip = [&](std::size_t i) { return !used[i] || !(a[i][i] > 0); };
  for (std::size_t i = 0; i < kScaleParts; ++i) {
    if (skip(i)) continue;
    for (std::size_t row = 0; row < kScaleParts; ++row) {
      if (row == i || skip(row)) continue;
      const double factor = a[row][i] / a[i][i];
      for (std::size_t column = i; column < kScaleParts; ++column) {
        a[row][column] -= factor * a[i][column];
      }
      b[row] -= factor * b[i];
    }
  }
  Numbers x{};
  for (std::size_t i = 0; i < kScaleParts; ++i) x[i] = skip(i) ? 0 : b[i] / a[i][i];
  return x;
}

// Parts whose weight would be negative only fit noise.
Numbers solve_nonnegative(const Matrix& a, const Numbers& b) {
  std::array<bool, kScaleParts> used;
  used.fill(true);
  for (std::size_t turn = 0; turn < kScaleParts; ++turn) {
    const Numbers x = solve(a, b, used);
    const auto least = static_cast<std::size_t>(std::ranges::min_element(x) - x.begin());
    if (x[least] >= 0) return x;
    used[least] = false;
  }
  return {};
}

std::uint8_t in_parts(double weight) {
  return static_cast<std::uint8_t>(std::clamp(weight * 128 + 0.5, 0.0, 255.0));
}

std::uint8_t floor_code(double floor) {
  unsigned code = 0;
  while (code < 255 && StencilScale{.floor = static_cast<std::uint8_t>(code + 1)}.floor_value() <=
                           static_cast<float>(floor)) {
    ++code;
  }
  return static_cast<std::uint8_t>(code);
}

}  // namespace

template <class T>
void ScaleFit::see(const RowJob<T>& job, const kernels::InterpolationModel<T>& model,
                   const T* predictions) {
  const auto& stencil = *job.stencil;
  row_.clear();
  const auto history = [](const T* at) { return (at[-1] + at[1] + 2 * at[0]) / 4; };
  for (std::size_t i = 0; i < job.row.count; i += sampling_of(job.group)) {
    T near = 0;
    for (std::size_t k = 0; k < 2 * stencil.axes; ++k) near += (stencil.at + i)[stencil.points[k]];
    const T bend = std::abs(predictions[i] - near * stencil.near_share) * model.inverse_step;
    float beside = 0;
    for (std::size_t k = 0; k < stencil.beside_count; ++k) {
      beside += (stencil.sizes + i)[stencil.beside[k]];
    }
    row_.push_back(
        {static_cast<float>(std::min<T>(bend, static_cast<T>(4096))),
         static_cast<float>(history(job.row.above + i)),
         job.row.behind == nullptr ? 0.0f : static_cast<float>(history(job.row.behind + i)),
         stencil.beside_count == 0 ? 0.0f : beside / static_cast<float>(stencil.beside_count),
         1.0f});
  }
}

void ScaleFit::add(std::size_t group, const std::int32_t* residuals, std::size_t count) {
  for (std::size_t i = 0, at = 0; i < count; i += sampling_of(group), ++at) {
    const std::int64_t size = std::abs(std::int64_t{residuals[i]});
    samples_[group].push_back({row_[at], static_cast<float>(std::min<std::int64_t>(size, 4096))});
  }
}

// Weighted by the inverse of the variance expected, which is itself refined.
void ScaleFit::fit(std::array<StencilScale, kRowGroups>& scales) const {
  for (std::size_t group = 0; group < kRowGroups; ++group) {
    if (samples_[group].size() < kFewest) continue;
    StencilScale& scale = scales[group];
    Numbers weights = {scale.curvature_weight(), scale.above_weight(), scale.behind_weight(),
                       scale.beside_weight(), scale.floor_value()};
    for (int turn = 0; turn < 3; ++turn) {
      Matrix a{};
      Numbers b{};
      for (const Sample& sample : samples_[group]) {
        double expected = 0;
        for (std::size_t i = 0; i < kScaleParts; ++i) expected += weights[i] * sample.parts[i];
        expected = std::max(expected, 0.005);
        const double trust = 1 / (expected * (expected + 0.3));
        for (std::size_t i = 0; i < kScaleParts; ++i) {
          const double weighted = trust * sample.parts[i];
          b[i] += weighted * sample.size;
          for (std::size_t j = 0; j < kScaleParts; ++j) a[i][j] += weighted * sample.parts[j];
        }
      }
      weights = solve_nonnegative(a, b);
    }
    scale = {in_parts(weights[0]), in_parts(weights[1]), in_parts(weights[2]), in_parts(weights[3]),
             floor_code(weights[4])};
  }
}

template void ScaleFit::see(const RowJob<float>&, const kernels::InterpolationModel<float>&,
                            const float*);
template void ScaleFit::see(const RowJob<double>&, const kernels::InterpolationModel<double>&,
                            const double*);

}  // namespace tensorpress::dense
