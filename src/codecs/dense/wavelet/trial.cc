#include "codecs/dense/wavelet/trial.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "codecs/dense/interpolation/interpolation.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/wavelet/lanes.h"

namespace tensorpress::dense {
namespace {

// By the number of long axes.
struct Sizes {
  std::uint64_t least_side;    // of a tensor that is cut into such chunks
  std::uint64_t least_values;  // of such a tensor
  std::size_t least_extent;    // of a chunk
  std::size_t trial_side;
};
constexpr Sizes kPlanes = {257, 1 << 17, 129, 257};
constexpr Sizes kCubes = {65, 1 << 21, 33, 49};
// 129 cubed and a little more. What is left of a tensor gets no longer chunks than this asks for.
constexpr std::uint64_t kMostChunk = 2'400'000;
constexpr std::size_t kLeastChunk = 1 << 16;
// More than this is mostly noise, which no transform makes smaller, unless it is_resolved.
constexpr double kMostBits = 4;

// Large quanta need few bits, but more corrections. Where a step of 2.5 bounds takes so many
// corrections a bit, the step beside it takes the least: measured on the training fields of
// bench/fields.
struct StepRule {
  double corrections_a_bit;
  std::uint8_t step;
};
constexpr StepRule kStepRules[] = {{0.007, 56}, {0.016, 48}, {0.027, 40}, {0.033, 36}};
constexpr std::uint8_t kSmallestStep = 32;
// What a trial fits weights to: of a class of stencils, of a group of coefficients.
constexpr std::uint32_t kTrialStencilSamples = 2048, kTrialWaveletSamples = 4000;
// Adaptive coding favours interpolation more in a block than in the chunk.
constexpr std::uint32_t kNeverRare = ~std::uint32_t{0};
// What another step may gain: this share, and so many bits a value where there are few.
constexpr double kMostGain = 1.06;
constexpr double kMostBitsGained = 0.03;
// Blocks that take fewer bits say nothing about corrections.
constexpr double kLeastTrialBits = 4000;
// Wavelets gain on other predictors in larger blocks; that they lose in one with fewer bits says
// little about the chunk.
constexpr double kTellingBits = 16000;

// Quanta to choose from where the mean error counts: with small ones hardly a value needs a
// correction, large ones leave more values as they are.
constexpr std::uint8_t kStepsForMean[] = {20, 40, 56};
// What a bit may cost in squared errors, as a share of the squared bound: at high rates the mean
// squared error falls by 2 ln 2 of itself for each bit a value, and is about 0.12 of the squared
// bound with small quanta.
constexpr double kSquareForABit = 2 * 0.6931 * 0.12;

// Squared errors of a block and what its bytes are worth.
template <class T, class Decode>
double cost_of(std::span<const T> values, std::size_t bytes, double bound, std::span<T> copy,
               const Decode& decode) {
  if (!decode(copy)) return std::numeric_limits<double>::infinity();
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = (static_cast<double>(values[i]) - static_cast<double>(copy[i])) / bound;
    squares += error * error;
  }
  return squares + kSquareForABit * 8 * static_cast<double>(bytes);
}

// The cheapest way for the mean error, by coding and decoding a block.
template <class T>
WaveletTrial try_for_mean(const bounded::Field<T>& sample, double bound,
                          const InterpolationMode& other, ChunkWorkspace& workspace) {
  std::vector<std::byte> output(sample.values.size() * sizeof(T));
  std::vector<T> copy(sample.values.size());
  const auto cost = [&](std::size_t bytes, auto decode) {
    const auto coded = std::span<const std::byte>(output).first(bytes);
    return cost_of<T>(sample.values, bytes, bound, copy, [&](std::span<T> to) {
      return decode(coded, sample.shape, bound, to, workspace).ok();
    });
  };
  double least = std::numeric_limits<double>::infinity();
  if (const auto bytes =
          encode_interpolation(sample, bound, other, {}, std::span(output), workspace)) {
    least = cost(*bytes, decode_interpolation<T>);
  }
  const auto decode = [form = wavelet_form_of(sample.shape)](auto coded, const Shape& shape,
                                                             double at_most, std::span<T> to,
                                                             ChunkWorkspace& in) {
    return decode_wavelet<T>(coded, shape, at_most, to, in, form);
  };
  WaveletTrial best;
  for (const std::uint8_t step : kStepsForMean) {
    const WaveletMode mode = {.step = step};
    const auto coded = encode_wavelet(sample, bound, mode, {}, std::span(output), workspace);
    if (!coded) continue;
    const double found = cost(coded->bytes, decode);
    if (found >= least) continue;
    least = found;
    best = {mode, true};
  }
  return best;
}

bool is_line(const Extents& chunk) {
  return chunk[0] == 1 && chunk[1] == 1;
}

// Of an odd length, as the transform likes them.
std::uint64_t piece_of(std::uint64_t extent, std::uint64_t pieces) {
  return std::min(extent, ((extent + pieces - 1) / pieces) | 1);
}

// Halves, thirds and so on of the longest axis of a piece, until it is small enough.
std::optional<Shape> pieces_of(const Shape& shape, std::size_t axes, const Sizes& sizes) {
  Shape chunk = shape;
  const std::size_t first = shape.rank() - axes;
  for (std::size_t axis = 0; axis < first; ++axis) chunk[axis] = 1;
  for (std::size_t axis = first; axis < shape.rank(); ++axis) {
    if (shape[axis] < sizes.least_side) return std::nullopt;
  }
  std::array<std::uint64_t, 3> pieces = {1, 1, 1};
  while (chunk.element_count() > kMostChunk) {
    std::size_t longest = first;
    for (std::size_t axis = first; axis < shape.rank(); ++axis) {
      if (chunk[axis] > chunk[longest]) longest = axis;
    }
    chunk[longest] = piece_of(shape[longest], ++pieces[longest - first]);
  }
  return chunk;
}

// The block in the middle of a folded chunk.
template <class T>
std::vector<T> middle_of(std::span<const T> values, const Extents& extents, const Extents& block) {
  std::vector<T> taken;
  taken.reserve(block[0] * block[1] * block[2]);
  Extents from;
  for (std::size_t axis = 0; axis < 3; ++axis) from[axis] = (extents[axis] - block[axis]) / 2;
  for (std::size_t z = 0; z < block[0]; ++z) {
    for (std::size_t y = 0; y < block[1]; ++y) {
      const auto row = values.subspan(
          ((from[0] + z) * extents[1] + from[1] + y) * extents[2] + from[2], block[2]);
      taken.insert(taken.end(), row.begin(), row.end());
    }
  }
  return taken;
}

Extents block_of(const Extents& chunk) {
  if (is_line(chunk)) return {1, 1, std::min(chunk[2], kLeastLine)};
  const std::size_t side = (chunk[0] == 1 ? kPlanes : kCubes).trial_side;
  return {std::min(chunk[0], side), std::min(chunk[1], side), std::min(chunk[2], side)};
}

WaveletMode mode_with_step_for(const WaveletCoded& coded) {
  WaveletMode mode;
  const double bits = 8.0 * static_cast<double>(coded.bytes);
  if (bits < kLeastTrialBits) return mode;
  mode.step = kSmallestStep;
  for (const StepRule& rule : kStepRules) {
    if (static_cast<double>(coded.corrections) < rule.corrections_a_bit * bits) {
      mode.step = rule.step;
      break;
    }
  }
  return mode;
}

}  // namespace

std::optional<Shape> wavelet_chunk_shape(const Shape& shape) {
  const std::uint64_t values = shape.element_count();
  if (shape.rank() >= 3 && values >= kCubes.least_values) return pieces_of(shape, 3, kCubes);
  if (shape.rank() == 2 && values >= kPlanes.least_values) return pieces_of(shape, 2, kPlanes);
  return std::nullopt;
}

bool suits_wavelets(const Shape& shape, double bits_of_others) {
  const Folding folding = fold(shape);
  if (is_line(folding.extents)) return Lanes::of(shape).exist() && bits_of_others < kMostBits;
  const bool flat = folding.extents[0] == 1;
  const std::size_t least = (flat ? kPlanes : kCubes).least_extent;
  const std::size_t shortest = std::min(folding.extents[1], folding.extents[2]);
  return shape.element_count() >= kLeastChunk && folding.components == 1 && shortest >= least &&
         (flat || folding.extents[0] >= least) && bits_of_others < kMostBits;
}

template <class T>
bool is_resolved(const bounded::Field<T>& field) {
  constexpr std::size_t kWindow = 7, kWindows = 2048;
  // How much noise grows in differences of second and sixth order, and how much less of the latter
  // there must be.
  constexpr double kSecond = 6, kSixth = 924, kLess = 16;
  const std::size_t row = fold(field.shape).extents[2];
  const std::size_t stride = field.values.size() / kWindows + 1;
  double second = 0, sixth = 0;
  for (std::size_t at = 0; at + kWindow <= field.values.size(); at += stride) {
    if (at % row + kWindow > row) continue;
    std::array<double, kWindow> d;
    for (std::size_t i = 0; i < kWindow; ++i) d[i] = static_cast<double>(field.values[at + i]);
    for (std::size_t order = 1; order < kWindow; ++order) {
      for (std::size_t i = 0; i + order < kWindow; ++i) d[i] = d[i + 1] - d[i];
      if (order == 2) second += d[2] * d[2];
    }
    sixth += d[0] * d[0];
  }
  return kLess * kSecond * sixth < kSixth * second;
}
template bool is_resolved(const bounded::Field<float>&);
template bool is_resolved(const bounded::Field<double>&);

bool is_trial_size(const Shape& shape) {
  const Extents block = block_of(fold(shape).extents);
  return 2 * shape.element_count() < 3 * block[0] * block[1] * block[2];
}

WaveletMode mode_after(const WaveletCoded& coded, std::size_t values,
                       std::optional<std::size_t> others) {
  if (!others) return mode_with_step_for(coded);
  const double most =
      kMostGain * static_cast<double>(*others) + kMostBitsGained / 8 * static_cast<double>(values);
  return static_cast<double>(coded.bytes) > most ? WaveletMode() : mode_with_step_for(coded);
}

template <class T>
WaveletMode wavelet_mode_of(const bounded::Field<T>& field, double bound,
                            ChunkWorkspace& workspace) {
  const Folding folding = fold(field.shape);
  const Extents block = block_of(folding.extents);
  const std::vector<T> values = middle_of<T>(field.values, folding.extents, block);
  const bounded::Field<T> sample{values, Shape{block[0], block[1], block[2]}};
  std::vector<std::byte> output(values.size() * sizeof(T));
  const WaveletMode first = {.fit_samples = kTrialWaveletSamples};
  const auto coded = encode_wavelet(sample, bound, first, {}, std::span(output), workspace);
  return coded ? mode_with_step_for(*coded) : WaveletMode();
}
template WaveletMode wavelet_mode_of(const bounded::Field<float>&, double, ChunkWorkspace&);
template WaveletMode wavelet_mode_of(const bounded::Field<double>&, double, ChunkWorkspace&);

template <class T>
WaveletTrial try_wavelet(const bounded::Field<T>& field, double bound,
                         const InterpolationMode& other, bool nearly_empty,
                         ChunkWorkspace& workspace) {
  if (field.mean_counts && nearly_empty) {
    const bounded::Field<T> whole{field.values, field.shape};
    return try_for_mean(whole, bound, other, workspace);
  }
  const Folding folding = fold(field.shape);
  const Extents block = block_of(folding.extents);
  // Holes have been filled, and zeros need not come back here.
  const std::vector<T> values = middle_of<T>(field.values, folding.extents, block);
  const bounded::Field<T> sample{values, Shape{block[0], block[1], block[2]}};
  if (field.mean_counts) return try_for_mean(sample, bound, other, workspace);
  std::vector<std::byte> output(values.size() * sizeof(T));
  InterpolationMode quick = other;
  quick.fit_samples = kTrialStencilSamples;
  quick.rare = kNeverRare;
  const auto interpolated =
      encode_interpolation(sample, bound, quick, {}, std::span(output), workspace);
  const WaveletMode first = {.fit_samples = kTrialWaveletSamples, .rare = kNeverRare};
  const auto transformed = encode_wavelet(sample, bound, first, {}, std::span(output), workspace);
  if (!transformed) return {};
  WaveletTrial trial{mode_after(*transformed, values.size(), interpolated)};
  const auto take = [&](std::size_t bytes) {
    trial.share =
        interpolated ? static_cast<double>(bytes) / static_cast<double>(*interpolated) : 0;
    trial.wins = !interpolated || bytes < *interpolated;
  };
  take(transformed->bytes);
  if (trial.wins) return trial;
  trial.says_little = 8.0 * static_cast<double>(*interpolated) < kTellingBits;
  if (trial.says_little) trial.wins = true;
  if (trial.says_little || trial.mode.step == WaveletMode().step) return trial;
  const auto again = encode_wavelet(sample, bound, trial.mode, {}, std::span(output), workspace);
  if (again) take(again->bytes);
  return trial;
}

template WaveletTrial try_wavelet(const bounded::Field<float>&, double, const InterpolationMode&,
                                  bool, ChunkWorkspace&);
template WaveletTrial try_wavelet(const bounded::Field<double>&, double, const InterpolationMode&,
                                  bool, ChunkWorkspace&);

}  // namespace tensorpress::dense
