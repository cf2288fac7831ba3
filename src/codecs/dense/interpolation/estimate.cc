// Chooses how to interpolate a chunk: runs the encoder's own passes on a few blocks of it with one
// mode after another and adds up what the residuals would cost. Greedy: axes, then what follows
// from them, about ten runs over a fiftieth of the values.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "codecs/dense/interpolation/forward.h"
#include "codecs/dense/interpolation/interpolation.h"
#include "codecs/dense/interpolation/stencils/trial.h"

namespace tensorpress::dense {
namespace {

template <class T>
struct Sample {
  Extents chunk{};
  Extents block{};
  std::size_t blocks = 0;
  std::span<const T> values;  // block after block
  double share = 1;           // what the chunk takes of what the blocks do, for each value

  std::size_t block_count() const { return block[0] * block[1] * block[2]; }
  std::span<const T> at(std::size_t i) const {
    return values.subspan(i * block_count(), block_count());
  }
};

struct Place {
  std::size_t z, y, x;
  std::size_t steps = 0;
};

// Where most happens, if nothing happens in most places: neighbours that differ by more than a
// step. Blocks of nothing would say nothing about how to code the rest.
template <class T>
double take_busiest(std::span<const T> values, const Extents& chunk, const Extents& block, T step,
                    std::vector<Place>& places, std::size_t wanted) {
  std::size_t quiet = 0, all = 0;
  for (Place& place : places) {
    for (std::size_t z = 0; z < block[0]; ++z) {
      for (std::size_t y = 0; y < block[1]; ++y) {
        const T* const row =
            values.data() + ((place.z + z) * chunk[1] + place.y + y) * chunk[2] + place.x;
        for (std::size_t x = 1; x < block[2]; ++x) {
          place.steps += std::abs(row[x] - row[x - 1]) > step ? 1 : 0;
        }
      }
    }
    quiet += place.steps == 0 ? 1 : 0;
    all += place.steps;
  }
  const std::size_t every = places.size() / wanted;
  if (2 * quiet < places.size() || all == 0) {
    // Evenly, as they came.
    for (std::size_t i = 0; i < wanted; ++i) places[i] = places[i * every + every / 2];
    places.resize(wanted);
    return 1;
  }
  const double mean = static_cast<double>(all) / static_cast<double>(places.size());
  std::ranges::stable_sort(places, std::ranges::greater(), &Place::steps);
  places.resize(wanted);
  std::size_t taken = 0;
  for (const Place& place : places) taken += place.steps;
  return mean * static_cast<double>(wanted) / static_cast<double>(taken);
}

// Sizes of blocks are 2^k + 1, so that borders and what lies within look as in the whole chunk.
template <class T>
Sample<T> take_sample(std::span<const T> values, const Extents& chunk, double bound,
                      ChunkWorkspace& workspace) {
  constexpr std::size_t kWhole = 12000;
  constexpr std::size_t kPlacesABlock = 9;  // that are looked at
  Sample<T> sample;
  sample.chunk = sample.block = chunk;
  sample.blocks = 1;
  sample.values = values;
  if (values.size() <= kWhole) return sample;
  const bool flat = chunk[0] == 1, line = flat && chunk[1] == 1;
  const Extents most = line ? Extents{1, 1, 4097} : flat ? Extents{1, 17, 129} : Extents{5, 9, 65};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    sample.block[axis] = std::min(chunk[axis], most[axis]);
  }
  const std::size_t wanted = std::clamp<std::size_t>(values.size() / 64, 8000, 32000);
  sample.blocks =
      std::max<std::size_t>(1, (wanted + sample.block_count() / 2) / sample.block_count());
  const auto copy = workspace.memory.of<InterpolationBuffers>().sample.reserve_as<T>(
      sample.blocks * sample.block_count() + 4 * kernels::kRowSlack);
  T* to = copy.data();
  const auto place = [&](std::size_t axis, std::uint64_t share) {
    return static_cast<std::size_t>((chunk[axis] - sample.block[axis]) * share >> 16);
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < sample.blocks * kPlacesABlock; ++i) {
    // Evenly along the slowest axis, scattered along the others.
    const std::uint64_t even = (2 * i + 1) * 65536 / (2 * sample.blocks * kPlacesABlock);
    const std::uint64_t scatter =
        ((i + kPlacesABlock / 2 + 1) % kPlacesABlock * sample.blocks + i / kPlacesABlock + 1) *
        0x9E3779B97F4A7C15u;
    const std::size_t z0 = place(0, even);
    const std::size_t y0 = place(1, flat ? even : (scatter >> 40) & 0xFFFF);
    const std::size_t x0 = place(2, line ? even : (scatter >> 24) & 0xFFFF);
    places.push_back({z0, y0, x0});
  }
  sample.share =
      take_busiest(values, chunk, sample.block, static_cast<T>(bound / 8), places, sample.blocks);
  for (const auto& [z0, y0, x0, steps] : places) {
    for (std::size_t z = 0; z < sample.block[0]; ++z) {
      for (std::size_t y = 0; y < sample.block[1]; ++y, to += sample.block[2]) {
        std::copy_n(values.data() + ((z0 + z) * chunk[1] + y0 + y) * chunk[2] + x0, sample.block[2],
                    to);
      }
    }
  }
  sample.values = copy.first(sample.blocks * sample.block_count());
  return sample;
}

template <class T>
class Chooser {
 public:
  /// `zero_bits` is what it takes to list a field's zeros, per value of the field.
  Chooser(const Sample<T>& sample, double bound, const InterpolationMode& start, double zero_bits,
          ChunkWorkspace& workspace)
      : sample_(sample), bound_(bound), zero_bits_(zero_bits), forward_(workspace), best_(start) {}

  InterpolationEstimate choose() {
    for (std::size_t axis = 0; axis < 3; ++axis) best_.along[axis] = sample_.chunk[axis] > 1;
    best_.cubic = true;
    best_.weights = 1;
    choose_first_class();
    const auto linear = [](InterpolationMode mode, std::uint8_t weights) {
      mode.cubic = false;
      mode.weights = weights;
      return mode;
    };
    if (best_.keep_zeros && zero_bits_ < bits_per_value() / 2) {
      InterpolationMode mode = best_;
      mode.keep_zeros = false;
      try_mode(mode);
    }
    try_mode(linear(best_, 0));
    choose_axes();
    if (best_.cubic) {
      try_mode(with_weights(0));
      try_mode(linear(best_, 2));
    } else {
      try_mode(with_weights(2));
      try_mode(with_weights(1));
    }
    if (best_.along[0] + best_.along[1] + best_.along[2] > 1) {
      InterpolationMode mode = best_;
      mode.average = true;
      try_mode(mode);
    }
    if (best_.cubic && bits_per_value() < 1.5) {
      InterpolationMode mode = best_;
      mode.tighten = true;
      try_mode(mode);
    }
    if (bits_per_value() > 0.7) try_feedback();
    return {bits_per_value(), best_};
  }

 private:
  struct Run {
    double bits = 0;
    std::array<double, kRowGroups> products{}, squares{};
    double saturated = 0;
  };

  double bits_per_value() const { return least_.bits / static_cast<double>(sample_.values.size()); }

  Run run(const InterpolationMode& mode) {
    Run result;
    ResidualHistogram histogram;
    std::size_t anchor_bytes = 0, outliers = 0, anchors = 0;
    for (std::size_t i = 0; i < sample_.blocks; ++i) {
      forward_.run(sample_.at(i), sample_.block, mode, bound_, ~std::size_t{0});
      const RowSpan* last = nullptr;
      for (const RowSpan& span : forward_.spans()) {
        const std::int32_t* const residuals = forward_.residuals().data() + span.start;
        histogram.add(span.group, forward_.classes().data() + span.start, residuals, span.count);
        // Every other pair of rows is enough.
        if (last != nullptr && last->group == span.group && last->count == span.count) {
          correlate(forward_.residuals().data() + last->start, residuals, span.count,
                    result.products[span.group], result.squares[span.group]);
          last = nullptr;
        } else {
          last = &span;
        }
      }
      anchor_bytes += forward_.anchors().size();
      outliers += forward_.outliers().size();
      const Lattice lattice(sample_.block, mode.along, mode.level_limit);
      anchors += lattice.count(lattice.levels);
    }
    // Blocks have more coarsest values than the chunk.
    const Lattice whole(sample_.chunk, mode.along, mode.level_limit);
    const double share =
        static_cast<double>(whole.count(whole.levels)) /
        static_cast<double>(sample_.chunk[0] * sample_.chunk[1] * sample_.chunk[2]);
    result.bits =
        static_cast<double>(choose_map(histogram, residual_tables(), nullptr).cost) / kCostUnit;
    result.bits += 8.0 * static_cast<double>(anchor_bytes) *
                   std::min(1.0, share * static_cast<double>(sample_.values.size()) /
                                     static_cast<double>(anchors));
    result.bits += static_cast<double>(outliers) * (8.0 * sizeof(T) + 10);
    if (!mode.keep_zeros) result.bits += zero_bits_ * static_cast<double>(sample_.values.size());
    for (const auto& group : histogram.counts) {
      for (const std::uint32_t count : group.back()) result.saturated += count;
    }
    return result;
  }

  // Residuals are integers, so the sums are exact whatever computes them; beyond 2^20 they are cut,
  // so that a row of 2^22 of them does not overflow.
  static void correlate(const std::int32_t* before, const std::int32_t* now, std::size_t count,
                        double& products, double& squares) {
    constexpr std::int32_t kMost = 1 << 20;
    std::int64_t product = 0, square = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t one = std::clamp(before[i], -kMost, kMost);
      product += one * std::clamp(now[i], -kMost, kMost);
      square += one * one;
    }
    products += static_cast<double>(product);
    squares += static_cast<double>(square);
  }

  bool try_mode(const InterpolationMode& mode, double needed = 1.0) {
    const Run result = run(mode);
    if (result.bits >= least_.bits * needed) return false;
    least_ = result;
    best_ = mode;
    return true;
  }
  InterpolationMode with_weights(std::uint8_t weights) const {
    InterpolationMode mode = best_;
    mode.weights = weights;
    return mode;
  }

  // Where residuals are large, most scales would fall into the last class.
  void choose_first_class() {
    least_ = run(best_);
    while (least_.saturated > 0.05 * static_cast<double>(sample_.values.size()) &&
           best_.raise < 24) {
      best_.raise = static_cast<std::uint8_t>(best_.raise + 4);
      least_ = run(best_);
    }
  }

  void choose_axes() {
    const InterpolationMode from = best_;
    const std::size_t axes = from.along[0] + from.along[1] + from.along[2];
    if (axes < 2) return;
    for (const std::size_t without : {0u, 1u, 2u}) {
      if (!from.along[without]) continue;
      InterpolationMode mode = from;
      mode.along[without] = false;
      try_mode(mode);
    }
  }

  void try_feedback() {
    InterpolationMode mode = best_;
    for (std::size_t g = 0; g < kRowGroups; ++g) {
      if (least_.squares[g] <= 0) continue;
      const double slope = std::clamp(least_.products[g] / least_.squares[g], -0.875, 0.875);
      if (std::abs(slope) < 0.15) continue;
      mode.feedback[g] = static_cast<std::int8_t>(std::floor(slope * 16 + 0.5));
    }
    if (mode.has_feedback()) try_mode(mode, 0.985);
  }

  const Sample<T>& sample_;
  double bound_;
  double zero_bits_;
  Forward<T> forward_;
  InterpolationMode best_;
  Run least_;
};

}  // namespace

template <class T>
InterpolationMode first_mode(const bounded::Field<T>& field, double bound) {
  InterpolationMode mode;
  mode.keep_zeros = field.has_zeros;
  // Rounding errors of predictions must not push values over the bound.
  T largest = 0;
  for (std::size_t i = 0; i < field.values.size(); i += 15) {
    largest = std::max(largest, std::abs(field.values[i]));
  }
  const double ulp = static_cast<double>(largest) * std::numeric_limits<T>::epsilon();
  mode.shrink = static_cast<std::uint8_t>(std::min(80.0, std::ceil(4096 * 2.2 * ulp / bound)));
  const double steps = static_cast<double>(largest) / bound;
  const double limit = kernels::InterpolationNumbers<T>::kResidualLimit;
  mode.level_limit = steps < limit / 2 ? 0 : steps < limit * 0x1p8 ? 2 : 3;
  return mode;
}

template <class T>
InterpolationEstimate estimate_interpolation(const bounded::Field<T>& field, double bound,
                                             const ZeroList& zeros, ChunkWorkspace& workspace) {
  const Folding folding = fold(field.shape);
  const InterpolationMode mode = first_mode(field, bound);
  const auto values = prepare_values(field, folding, workspace);
  const std::size_t zero_bytes = zeros.runs.empty() ? 0 : bytes_of(zeros);
  // Flags of zeros take a few bits for each row that a run would have.
  constexpr double kFlagBits = 3;
  const double zero_bits = std::min(8.0 * static_cast<double>(zero_bytes),
                                    kFlagBits * static_cast<double>(zeros.runs.size())) /
                           static_cast<double>(values.size());
  const auto sample = take_sample(values, folding.extents, bound, workspace);
  auto estimate = Chooser<T>(sample, bound, mode, zero_bits, workspace).choose();
  estimate.bits_per_value *= sample.share;
  // Stencils save a tenth or so; where that is less than their weights take, they are not tried.
  constexpr double kLeastBytes = 5000;
  const double bytes = estimate.bits_per_value * static_cast<double>(values.size()) / 8;
  const auto stencils =
      bytes < kLeastBytes ? std::nullopt
                          : try_stencils(values, folding.extents, bound, estimate.mode, workspace);
  // Blocks of what is nearly empty promise more than the chunk keeps.
  if (stencils && bytes * stencils->share >= kLeastBytes / 2) {
    estimate.mode = stencils->mode;
    estimate.bits_per_value *= stencils->share;
  }
  return estimate;
}

template InterpolationMode first_mode(const bounded::Field<float>&, double);
template InterpolationMode first_mode(const bounded::Field<double>&, double);
template InterpolationEstimate estimate_interpolation(const bounded::Field<float>&, double,
                                                      const ZeroList&, ChunkWorkspace&);
template InterpolationEstimate estimate_interpolation(const bounded::Field<double>&, double,
                                                      const ZeroList&, ChunkWorkspace&);

}  // namespace tensorpress::dense
