#include "codecs/dense/interpolation/stencils/scales.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/portable_math.h"

namespace tensorpress::dense {
namespace {

constexpr std::size_t kFewest = 400;  // samples of a group
// The finest level, whose groups come first, has more than enough values.
constexpr std::size_t sampling_of(std::size_t group) {
  return group < 3 ? 4 : 1;
}
// Outliers and the like say nothing about the rest.
constexpr std::uint32_t kMostSize = 4096;
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
void ScaleFit::see(const RowJob<T>& job, const kernels::InterpolationModel<T>& model) {
  const auto& stencil = *job.stencil;
  auto& parts = samples_[job.group].parts;
  const std::size_t step = sampling_of(job.group), before = parts[0].size();
  const std::size_t start = samples_[job.group].skipped;
  const std::size_t count = job.row.count <= start ? 0 : (job.row.count - start + step - 1) / step;
  for (auto& part : parts) part.resize(before + count);
  const auto fill = [&](std::size_t part, const auto& value_at) {
    float* const to = parts[part].data() + before;
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(value_at(start + i * step));
  };
  const auto mean = [](const T* at) { return (at[-1] + at[1] + 2 * at[0]) / 4; };
  fill(0, [&](std::size_t i) {
    return std::min<T>(job.bends[i] * model.inverse_step, static_cast<T>(kMostSize));
  });
  fill(1, [&](std::size_t i) { return mean(job.row.above + i); });
  if (job.row.behind != nullptr) {
    fill(2, [&](std::size_t i) { return mean(job.row.behind + i); });
  }
  if (stencil.beside_count == 0) return;
  const float share = 1.0f / static_cast<float>(stencil.beside_count);
  fill(3, [&](std::size_t i) {
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < stencil.beside_count; ++k) {
      sum += (stencil.sizes + i)[stencil.beside[k]];
    }
    return static_cast<float>(sum) * share;
  });
}

void ScaleFit::add(std::size_t group, const std::int32_t* residuals, std::size_t count) {
  Samples& samples = samples_[group];
  std::size_t i = samples.skipped;
  for (; i < count; i += sampling_of(group)) {
    const auto bits = static_cast<std::uint32_t>(residuals[i]);
    samples.sizes.push_back(residuals[i] < 0 ? 0 - bits : bits);
  }
  samples.skipped = i - count;
}

// Weighted by the inverse of the variance expected, which is itself refined.
StencilScale ScaleFit::fitted(const Samples& samples, const StencilScale& start) const {
  constexpr std::size_t kBatch = 512, kFeatures = kScaleParts + 1;
  std::array<float, kFeatures * kBatch> features;
  Numbers weights = {start.curvature_weight(), start.above_weight(), start.behind_weight(),
                     start.beside_weight(), start.floor_value()};
  for (int turn = 0; turn < 3; ++turn) {
    std::array<float, kScaleParts> weight;
    for (std::size_t p = 0; p < kScaleParts; ++p) weight[p] = static_cast<float>(weights[p]);
    std::array<double, kFeatures * kFeatures> products{};
    for (std::size_t from = 0; from < samples.sizes.size(); from += kBatch) {
      const std::size_t count = std::min(kBatch, samples.sizes.size() - from);
      if (count < kBatch) features.fill(0);
      const auto part = [&](std::size_t p) { return samples.parts[p].data() + from; };
      const float *bend = part(0), *above = part(1), *behind = part(2), *beside = part(3);
      float* const trusts = features.data() + 4 * kBatch;  // times the floor's part, which is 1
      for (std::size_t i = 0; i < count; ++i) {
        const float expected = weight[0] * bend[i] + weight[1] * above[i] + weight[2] * behind[i] +
                               weight[3] * beside[i] + weight[4];
        const float least = expected > 0.005f ? expected : 0.005f;
        trusts[i] = rough_inverse_root(least * (least + 0.3f));
      }
      for (std::size_t p = 0; p + 1 < kScaleParts; ++p) {
        const float* const values = part(p);
        float* const to = features.data() + p * kBatch;
        for (std::size_t i = 0; i < count; ++i) to[i] = values[i] * trusts[i];
      }
      for (std::size_t i = 0; i < count; ++i) {
        const auto size = static_cast<float>(std::min(samples.sizes[from + i], kMostSize));
        features[kScaleParts * kBatch + i] = size * trusts[i];
      }
      add_products_(features.data(), kFeatures, kBatch, kBatch, products.data());
    }
    Matrix a;
    Numbers b;
    const auto product = [&](std::size_t i, std::size_t j) {
      return products[std::max(i, j) * kFeatures + std::min(i, j)];
    };
    for (std::size_t i = 0; i < kScaleParts; ++i) {
      b[i] = product(i, kScaleParts);
      for (std::size_t j = 0; j < kScaleParts; ++j) a[i][j] = product(i, j);
    }
    weights = solve_nonnegative(a, b);
  }
  return {in_parts(weights[0]), in_parts(weights[1]), in_parts(weights[2]), in_parts(weights[3]),
          floor_code(weights[4])};
}

void ScaleFit::fit(std::array<StencilScale, kRowGroups>& scales) const {
  for (std::size_t group = 0; group < kRowGroups; ++group) {
    if (samples_[group].sizes.size() < kFewest) continue;
    scales[group] = fitted(samples_[group], scales[group]);
  }
}

ResidualHistogram ScaleFit::histogram(const std::array<StencilScale, kRowGroups>& scales,
                                      std::uint8_t raise) const {
  ResidualHistogram histogram;
  const std::int32_t first_class = kernels::kFirstClassBits + 2 * std::int32_t{raise};
  for (std::size_t group = 0; group < kRowGroups; ++group) {
    const Samples& samples = samples_[group];
    const StencilScale& scale = scales[group];
    histogram.sampled[group] = static_cast<std::uint32_t>(sampling_of(group));
    for (std::size_t i = 0; i < samples.sizes.size(); ++i) {
      const float expected = scale.curvature_weight() * samples.parts[0][i] + scale.floor_value() +
                             scale.above_weight() * samples.parts[1][i] +
                             scale.behind_weight() * samples.parts[2][i] +
                             scale.beside_weight() * samples.parts[3][i];
      const auto octaves = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(expected) >> 22);
      const auto its_class = static_cast<std::uint32_t>(std::clamp(octaves - first_class, 0, 31));
      ++histogram.counts[group][its_class][cost_bin(samples.sizes[i])];
      histogram.used[group] |= 1u << its_class;
    }
  }
  return histogram;
}

template void ScaleFit::see(const RowJob<float>&, const kernels::InterpolationModel<float>&);
template void ScaleFit::see(const RowJob<double>&, const kernels::InterpolationModel<double>&);

}  // namespace tensorpress::dense
