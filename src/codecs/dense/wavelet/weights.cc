#include "codecs/dense/wavelet/weights.h"

#include <algorithm>

#include "base/portable_math.h"

namespace tensorpress::dense {
namespace {

using kernels::ContextWeights;
using Numbers = std::array<double, kContextFeatures>;

// Of a group. More fit no better.
constexpr std::size_t kMostSamples = 2000;

// In the order of the features, which is that of the struct.
constexpr std::array<std::uint16_t ContextWeights::*, kContextFeatures> kMembers = {
    &ContextWeights::floor,       &ContextWeights::above,       &ContextWeights::above_side,
    &ContextWeights::behind,      &ContextWeights::ring,        &ContextWeights::wide,
    &ContextWeights::parent,      &ContextWeights::parent_ring, &ContextWeights::sibling,
    &ContextWeights::sibling_ring};

// Weights that fit 8 bits and do not overflow.
ContextWeights from_numbers(const Numbers& numbers) {
  for (double scale = 1; scale > 0.01; scale *= 0.96875) {
    ContextWeights weights;
    for (std::size_t i = 0; i < kContextFeatures; ++i) {
      const double scaled = std::clamp(numbers[i] * scale * 256 + 0.5, 0.0, 255.0);
      weights.*kMembers[i] = static_cast<std::uint16_t>(scaled);
    }
    if (weights.total() <= kernels::kMostContextWeight) return weights;
  }
  return {};
}

// Solves a symmetric positive system whose variables with a zero on the diagonal are left out.
Numbers solve(std::array<Numbers, kContextFeatures> a, Numbers b) {
  constexpr std::size_t n = kContextFeatures;
  std::array<bool, n> usable{};
  for (std::size_t i = 0; i < n; ++i) {
    const double before = a[i][i];
    if (!(before > 0)) continue;
    a[i][i] += 1e-6 * before;
    usable[i] = true;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (!usable[i]) continue;
    for (std::size_t row = 0; row < n; ++row) {
      if (row == i || !usable[row]) continue;
      const double factor = a[row][i] / a[i][i];
      for (std::size_t column = i; column < n; ++column) a[row][column] -= factor * a[i][column];
      b[row] -= factor * b[i];
    }
  }
  Numbers x{};
  for (std::size_t i = 0; i < n; ++i) x[i] = usable[i] && a[i][i] > 0 ? b[i] / a[i][i] : 0;
  return x;
}

}  // namespace

const ContextWeightSet& standard_context_weights() {
  // floor, above, above_side, behind, ring, wide, parent, parent_ring, sibling, sibling_ring
  static constexpr ContextWeightSet kWeights = {{
      {1, 36, 12, 36, 10, 4, 20, 4, 0, 0},
      {1, 30, 10, 30, 8, 3, 16, 3, 20, 3},
      {1, 24, 8, 24, 6, 3, 12, 2, 20, 3},
      {1, 34, 12, 34, 9, 4, 18, 4, 14, 2},
      {2, 40, 14, 40, 10, 4, 24, 4, 16, 2},
      {0, 20, 8, 20, 6, 3, 4, 1, 0, 0},
  }};
  return kWeights;
}

void append_weights(const ContextWeightSet& weights, std::vector<std::byte>& bytes) {
  for (const ContextWeights& group : weights) {
    for (const auto member : kMembers) bytes.push_back(static_cast<std::byte>(group.*member));
  }
}

Result<ContextWeightSet> read_weights(ByteReader& reader) {
  ContextWeightSet weights;
  for (ContextWeights& group : weights) {
    for (const auto member : kMembers) {
      TRY(group.*member, reader.read<std::uint8_t>());
    }
    if (group.total() > kernels::kMostContextWeight) {
      return corrupt("a wavelet chunk's contexts weigh ", group.total(), ", more than ",
                     kernels::kMostContextWeight);
    }
  }
  return weights;
}

void WeightFit::add(std::size_t group, const Features& features, std::uint16_t magnitude) {
  std::uint16_t any = magnitude;
  for (std::size_t i = 1; i < kContextFeatures; ++i) any |= features[i];
  if (any == 0) {
    ++samples_[group].nothing;
  } else {
    samples_[group].some.push_back({features, magnitude});
  }
}

// Weighted by the inverse of the variance expected, which is itself refined; weights below zero
// would only fit noise and are left out.
ContextWeights WeightFit::fit(const Samples& samples, const ContextWeights& start) const {
  const auto spread = [](double expected) {
    expected = std::max(expected, 0.005);
    return expected * (expected + 0.3);
  };
  const std::size_t stride = samples.some.size() / kMostSamples + 1;
  const double nothing = static_cast<double>(samples.nothing) / static_cast<double>(stride);
  // Features and magnitudes in rows, then the same times the root of their trust.
  constexpr std::size_t kRows = kContextFeatures + 1, kLanes = kernels::kProductLanes;
  const std::size_t count = (samples.some.size() + stride - 1) / stride;
  const std::size_t pitch = (count + kLanes - 1) / kLanes * kLanes;
  std::vector<float> values(kRows * pitch), weighted(kRows * pitch), roots(pitch);
  for (std::size_t at = 0; at < count; ++at) {
    const Sample& sample = samples.some[at * stride];
    for (std::size_t i = 0; i < kContextFeatures; ++i) {
      values[i * pitch + at] = static_cast<float>(sample.features[i]);
    }
    values[kContextFeatures * pitch + at] = static_cast<float>(sample.magnitude);
  }
  Numbers weights;
  for (std::size_t i = 0; i < kContextFeatures; ++i) weights[i] = start.*kMembers[i] / 256.0;
  for (int turn = 0; turn < 3; ++turn) {
    std::ranges::fill(roots, 0.0f);
    for (std::size_t i = 0; i < kContextFeatures; ++i) {
      const auto weight = static_cast<float>(weights[i]);
      const float* const row = values.data() + i * pitch;
      for (std::size_t at = 0; at < pitch; ++at) roots[at] += weight * row[at];
    }
    for (float& root : roots) {
      const float expected = root > 0.005f ? root : 0.005f;
      root = rough_inverse_root(expected * (expected + 0.3f));
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t at = 0; at < pitch; ++at) {
        weighted[i * pitch + at] = values[i * pitch + at] * roots[at];
      }
    }
    std::array<double, kRows * kRows> products{};
    add_products_(weighted.data(), kRows, pitch, pitch, products.data());
    std::array<Numbers, kContextFeatures> a;
    Numbers b;
    for (std::size_t i = 0; i < kContextFeatures; ++i) {
      b[i] = products[kContextFeatures * kRows + i];
      for (std::size_t j = 0; j < kContextFeatures; ++j) {
        a[i][j] = products[std::max(i, j) * kRows + std::min(i, j)];
      }
    }
    a[0][0] += nothing / spread(weights[0]);
    weights = solve(a, b);
    for (std::size_t i = 0; i < kContextFeatures; ++i) {
      if (weights[i] >= 0) continue;
      for (std::size_t j = 0; j < kContextFeatures; ++j) a[i][j] = a[j][i] = 0;
      weights[i] = 0;
    }
    weights = solve(a, b);
    for (double& weight : weights) weight = std::max(weight, 0.0);
  }
  return from_numbers(weights);
}

// What the samples take if the magnitudes of a class are distributed geometrically: a fit follows
// the few largest magnitudes, and where these are rare and lonely, shipped weights are better.
double WeightFit::expected_bits(const Samples& samples, const ContextWeights& weights) {
  struct Class {
    std::uint64_t count = 0, sum = 0;
  };
  std::array<Class, kernels::kScaleClasses> classes{};
  const std::size_t stride = samples.some.size() / kMostSamples + 1;
  for (std::size_t at = 0; at < samples.some.size(); at += stride) {
    const Sample& sample = samples.some[at];
    std::uint32_t expectation = 0;
    for (std::size_t i = 0; i < kContextFeatures; ++i) {
      expectation += std::uint32_t{weights.*kMembers[i]} * sample.features[i];
    }
    Class& found = classes[kernels::context_class_of(expectation)];
    ++found.count;
    found.sum += sample.magnitude;
  }
  classes[kernels::context_class_of(weights.floor)].count += samples.nothing / stride;
  double bits = 0;
  for (const Class& each : classes) {
    if (each.sum == 0) continue;
    const auto count = static_cast<double>(each.count), sum = static_cast<double>(each.sum);
    bits += count * portable_log2(1 + sum / count) + sum * portable_log2(1 + count / sum);
  }
  return bits;
}

ContextWeightSet WeightFit::fitted() const {
  constexpr std::size_t kFewest = 500;
  ContextWeightSet weights = standard_context_weights();
  for (std::size_t group = 0; group < kContextGroups; ++group) {
    if (samples_[group].some.size() + samples_[group].nothing >= kFewest) {
      const ContextWeights own = fit(samples_[group], weights[group]);
      if (expected_bits(samples_[group], own) < expected_bits(samples_[group], weights[group])) {
        weights[group] = own;
      }
    }
  }
  return weights;
}

}  // namespace tensorpress::dense
