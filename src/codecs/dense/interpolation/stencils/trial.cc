#include "codecs/dense/interpolation/stencils/trial.h"

#include <algorithm>
#include <vector>

namespace tensorpress::dense {
namespace {

// Smaller chunks would hardly earn the bytes of the weights.
constexpr std::size_t kLeastValues = std::size_t{1} << 15;
// From here on one small block says too little about the chunk.
constexpr std::size_t kTwoBlocks = std::size_t{1} << 20;
// With scales that are not fitted yet, stencils may take so much more and still win.
constexpr double kHopeless = 1.08;
// Stencils must save this share, for they take longer both ways.
constexpr double kPays = 0.97;
// Where a value takes fewer bits, finer coarse levels may pay.
constexpr double kTightenBelow = 1.0;

// Blocks from different places along all axes, one after the other. Their sides are odd, as those
// of most chunks are.
template <class T>
struct Blocks {
  Extents extents{};
  std::vector<std::vector<T>> values;
};
template <class T>
Blocks<T> take_blocks(std::span<const T> values, const Extents& chunk) {
  const bool flat = chunk[0] == 1, line = flat && chunk[1] == 1;
  const std::size_t count = values.size() < kTwoBlocks ? 1 : 2;
  const Extents most = line   ? Extents{1, 1, 8193}
                       : flat ? Extents{1, 129, 257}
                              : Extents{33, 33, 65};
  Blocks<T> blocks;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    blocks.extents[axis] = std::min(chunk[axis], most[axis]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    Extents from;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      from[axis] = (chunk[axis] - blocks.extents[axis]) * (2 * i + 1) / (2 * count);
    }
    auto& block = blocks.values.emplace_back();
    for (std::size_t z = 0; z < blocks.extents[0]; ++z) {
      for (std::size_t y = 0; y < blocks.extents[1]; ++y) {
        const auto row = values.subspan(
            ((from[0] + z) * chunk[1] + from[1] + y) * chunk[2] + from[2], blocks.extents[2]);
        block.insert(block.end(), row.begin(), row.end());
      }
    }
  }
  return blocks;
}

// Where the two nearest values predict better than four, and residuals follow the slope or one axis
// is better left out: stencils have not won on such a chunk. They do where averages of several axes
// predict best, however few of these.
bool has_edges(const InterpolationMode& mode, const Extents& extents) {
  constexpr std::uint8_t kBySlope = 2;
  if (mode.cubic || (mode.average && !mode.keep_zeros)) return false;
  bool all_axes = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    all_axes = all_axes && (mode.along[axis] || extents[axis] == 1);
  }
  return !all_axes || mode.weights == kBySlope;
}

struct Run {
  ResidualHistogram histogram;
  double other_bits = 0;  // of the coarsest values and outliers
};
double bits_of(const ResidualHistogram& histogram) {
  return static_cast<double>(choose_map(histogram, residual_tables(), nullptr).cost) / kCostUnit;
}

template <class T>
Run run(const Blocks<T>& blocks, const InterpolationMode& mode, double bound, Forward<T>& forward) {
  Run result;
  for (const auto& block : blocks.values) {
    forward.run(block, blocks.extents, mode, bound, ~std::size_t{0});
    for (const RowSpan& span : forward.spans()) {
      result.histogram.add(span.group, forward.classes().data() + span.start,
                           forward.residuals().data() + span.start, span.count);
    }
    result.other_bits += 8.0 * static_cast<double>(forward.anchors().size()) +
                         static_cast<double>(forward.outliers().size()) * (8.0 * sizeof(T) + 10);
  }
  return result;
}

}  // namespace

template <class T>
std::optional<StencilTrial> try_stencils(std::span<const T> values, const Extents& extents,
                                         double bound, const InterpolationMode& other,
                                         ChunkWorkspace& workspace) {
  if (values.size() < kLeastValues || has_edges(other, extents)) return std::nullopt;
  StencilTrial trial{other, 1};
  trial.mode.stencils = true;
  trial.mode.cubic = true;
  trial.mode.average = trial.mode.tighten = false;
  trial.mode.weights = 0;
  trial.mode.feedback = {};
  for (std::size_t axis = 0; axis < 3; ++axis) trial.mode.along[axis] = extents[axis] > 1;
  if (!suits_stencils(trial.mode, extents)) trial.mode.along = other.along;
  if (!suits_stencils(trial.mode, extents)) return std::nullopt;

  const Blocks<T> blocks = take_blocks(values, extents);
  Forward<T> forward(workspace);
  const Run others = run(blocks, other, bound, forward);
  const double others_bits = bits_of(others.histogram) + others.other_bits;
  forward.set_fitting({.samples = 2048, .reach = StencilReach::nine});
  ScaleFit fit(workspace.isa);
  forward.set_scale_fit(&fit);
  const Run first = run(blocks, trial.mode, bound, forward);
  std::vector<std::byte> weights;
  append_stencils(forward.stencils(), Lattice(blocks.extents, trial.mode.along, other.level_limit),
                  weights);
  forward.set_scale_fit(nullptr);
  if (!(bits_of(first.histogram) + first.other_bits < kHopeless * others_bits)) return std::nullopt;
  // Residuals do not depend on scales: the samples tell what they take with better ones.
  fit.fit(trial.mode.scales);
  double bits = bits_of(fit.histogram(trial.mode.scales, trial.mode.raise)) + first.other_bits;
  std::size_t count = 0;
  for (const auto& block : blocks.values) count += block.size();
  if (bits < kTightenBelow * static_cast<double>(count)) {
    InterpolationMode tighter = trial.mode;
    tighter.tighten = true;
    const Run finer = run(blocks, tighter, bound, forward);
    const double tightened = bits_of(finer.histogram) + finer.other_bits;
    if (tightened < bits) {
      bits = tightened;
      trial.mode = tighter;
    }
  }
  // The chunk has weights once, a few more than a block.
  bits += 16.0 * static_cast<double>(weights.size()) * static_cast<double>(count) /
          static_cast<double>(values.size());
  if (!(bits < kPays * others_bits)) return std::nullopt;
  trial.share = bits / others_bits;
  return trial;
}

template std::optional<StencilTrial> try_stencils(std::span<const float>, const Extents&, double,
                                                  const InterpolationMode&, ChunkWorkspace&);
template std::optional<StencilTrial> try_stencils(std::span<const double>, const Extents&, double,
                                                  const InterpolationMode&, ChunkWorkspace&);

}  // namespace tensorpress::dense
