// In a chunk: a byte with the reach, then bits. For each of the finest levels, the finest first,
// and each class in the order of coding: 4 bits, how many bits a weight has; if not 0, all weights
// but the first, in two's complement.
#include "codecs/dense/interpolation/stencils/weights.h"

#include <algorithm>
#include <cstdlib>

#include "base/errors.h"
#include "codecs/dense/residuals/bits.h"

namespace tensorpress::dense {
namespace {

constexpr std::uint8_t kReachBit = 1;

int bits_of(std::int32_t weight) {
  int bits = 1;
  while (weight < -(1 << (bits - 1)) || weight >= 1 << (bits - 1)) ++bits;
  return bits;
}

// The first weight is what the others leave.
bool complete(StencilWeights& weights) {
  std::int32_t left = kStencilUnit, total = 0;
  for (std::size_t i = 1; i < weights.size(); ++i) {
    left -= weights[i];
    total += std::abs(weights[i]);
  }
  weights[0] = left;
  return total + std::abs(left) <= kMostStencilWeight;
}

struct WeightedClass {
  int level;
  AxisBits odd;
  const StencilShape* shape;
};
std::vector<WeightedClass> weighted_classes(const Lattice& lattice, StencilReach reach) {
  std::vector<WeightedClass> classes;
  for (int level = 1; level <= std::min(lattice.levels, kStencilLevels); ++level) {
    const AxisBits axes = axes_of(lattice, level);
    for (const AxisBits odd : kClassOrder) {
      if ((odd & ~axes) == 0) classes.push_back({level, odd, &stencil_shape(axes, odd, reach)});
    }
  }
  return classes;
}

Result<StencilWeights> read_weights(BitReader& in, const StencilShape& shape) {
  TRY(const auto bits, in.get(4));
  if (bits == 0) return StencilWeights();
  StencilWeights weights(shape.groups.size());
  for (std::size_t i = 1; i < weights.size(); ++i) {
    TRY(const auto raw, in.get(static_cast<int>(bits)));
    const auto sign = std::int32_t{1} << (bits - 1);
    weights[i] = (static_cast<std::int32_t>(raw) ^ sign) - sign;
  }
  if (!complete(weights)) return corrupt("the weights of a stencil are too large");
  return weights;
}

}  // namespace

AxisBits axes_of(const Lattice& lattice, int level) {
  AxisBits axes = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (lattice.along[axis] && lattice.extent[level - 1][axis] > 1) axes |= 4u >> axis;
  }
  return axes;
}

bool StencilSet::set(int level, AxisBits odd, const StencilWeights& weights) {
  StencilWeights checked = weights;
  for (std::size_t i = 1; i < checked.size(); ++i) {
    if (bits_of(checked[i]) > kMostWeightBits) return false;
  }
  if (level > kStencilLevels || !complete(checked)) return false;
  weights_[level - 1][odd] = std::move(checked);
  return true;
}

StencilWeights cubic_weights(const StencilShape& shape) {
  StencilWeights weights(shape.groups.size());
  const auto axes = static_cast<std::int32_t>(shape.axes);
  for (std::size_t i = 0; i < shape.axes; ++i) {
    weights[i] = 9 * kStencilUnit / 8 / axes;
    weights[shape.axes + i] = -kStencilUnit / 8 / axes;
  }
  complete(weights);
  return weights;
}

StencilWeights one_sided_weights(const StencilShape& shape) {
  StencilWeights weights(shape.groups.size());
  const auto axes = static_cast<std::int32_t>(shape.axes);
  for (std::size_t i = 0; i < shape.axes; ++i) {
    weights[i] = 15 * kStencilUnit / 8 / axes;
    weights[shape.axes + i] = -10 * kStencilUnit / 8 / axes;
    weights[2 * shape.axes + i] = 3 * kStencilUnit / 8 / axes;
  }
  complete(weights);
  return weights;
}

void append_stencils(const StencilSet& stencils, const Lattice& lattice,
                     std::vector<std::byte>& bytes) {
  bytes.push_back(stencils.reach == StencilReach::fourteen ? std::byte{kReachBit} : std::byte{0});
  BitWriter out(bytes);
  for (const auto& [level, odd, shape] : weighted_classes(lattice, stencils.reach)) {
    const StencilWeights& weights = stencils.of(level, odd);
    int bits = weights.empty() ? 0 : 1;
    for (std::size_t i = 1; i < weights.size(); ++i) bits = std::max(bits, bits_of(weights[i]));
    out.put(static_cast<std::uint32_t>(bits), 4);
    for (std::size_t i = 1; i < weights.size(); ++i) {
      out.put(static_cast<std::uint32_t>(weights[i]), bits);
    }
  }
}

Result<StencilSet> read_stencils(ByteReader& reader, const Lattice& lattice) {
  TRY(const auto flags, reader.read<std::uint8_t>());
  if (flags > kReachBit) return corrupt("stencils have flags ", flags);
  StencilSet stencils;
  stencils.reach = flags == kReachBit ? StencilReach::fourteen : StencilReach::nine;
  BitReader in(reader);
  for (const auto& [level, odd, shape] : weighted_classes(lattice, stencils.reach)) {
    TRY(const auto weights, read_weights(in, *shape));
    if (!weights.empty()) stencils.set(level, odd, weights);
  }
  return stencils;
}

}  // namespace tensorpress::dense
