// How a stream's first chunk guides the others (guide.h): found for the first, followed by those
// that are like it.
#pragma once

#include <memory>

#include "codecs/dense/choice/choice.h"
#include "codecs/dense/choice/guide.h"
#include "codecs/dense/recurring/copies.h"
#include "codecs/dense/wavelet/trial.h"

namespace tensorpress::dense {

// Where interpolation takes less than this of what Lorenzo takes in the first chunk of a stream, or
// the reverse, the others are not asked.
inline constexpr double kClearlyBetter = 0.92;
// Wavelets that take so much more in a block of the first chunk are not tried in the others.
inline constexpr double kLosesEverywhere = 1.02;
// How much more than the first chunk is expected to take, others like it may.
inline constexpr double kGuidedSlack = 1.25;

template <class T>
std::optional<std::size_t> by_way_of(const Guide& guide, Chunk<T>& chunk,
                                     std::span<std::byte> output) {
  if (guide.way == Guide::Way::lorenzo) {
    return by_lorenzo(chunk.field, chunk.bound, chunk.plan, output, chunk.workspace);
  }
  const InterpolationMode own = first_mode(chunk.field, chunk.bound);
  chunk.estimate.mode = guide.interpolation;
  chunk.estimate.mode.shrink = own.shrink;
  chunk.estimate.mode.level_limit = own.level_limit;
  chunk.estimate.mode.keep_zeros = own.keep_zeros && guide.interpolation.keep_zeros;
  return by_interpolation(chunk, output);
}

template <class T>
std::optional<std::size_t> by_guided_wavelet(Chunk<T>& chunk, double most_bits,
                                             std::span<std::byte> output) {
  const bounded::Field<T>& field = chunk.field;
  if (!dense::suits_wavelets(field.shape, most_bits) ||
      (field.has_zeros && field.shape.rank() == 2)) {
    return std::nullopt;
  }
  const auto mode = wavelet_mode_of(field, chunk.bound, chunk.workspace);
  const auto transformed = by_wavelet(chunk, mode, output.size());
  if (transformed.empty() || bits_of(transformed.size(), field) > most_bits) return std::nullopt;
  std::ranges::copy(transformed, output.begin());
  return transformed.size();
}

// As the stream's first chunk is coded best, if this one is like it; nothing if it is not.
template <class T>
std::optional<std::size_t> by_guide(Chunk<T>& chunk, std::span<std::byte> output) {
  const auto* const guide = static_cast<const Guide*>(chunk.workspace.guide);
  const bounded::Field<T>& field = chunk.field;
  if (guide == nullptr || chunk.effort != Effort::normal || field.mean_counts ||
      (field.has_zeros && !guide->has_zeros) || !guide->suits(chunk.lorenzo_bits())) {
    return std::nullopt;
  }
  const double most_bits = std::min(guide->most_bits(chunk.lorenzo_bits()), chunk.lorenzo_bits());
  const PaletteEffort quick = {.most_bits = most_bits * static_cast<double>(field.values.size())};
  if (!by_palette(field, chunk.bound, quick, output.size(), chunk.workspace).empty()) {
    return std::nullopt;
  }
  if (guide->way == Guide::Way::wavelet) return by_guided_wavelet(chunk, most_bits, output);
  const auto bytes = by_way_of(*guide, chunk, output);
  if (!bytes || bits_of(*bytes, field) < kFewBits || bits_of(*bytes, field) > most_bits) {
    return std::nullopt;
  }
  return bytes;
}

template <class T>
std::shared_ptr<const ChunkGuide> guide_of(const bounded::Field<T>& field, double bound,
                                           ChunkWorkspace& workspace) {
  if (field.mean_counts || field.values.size() <= kTryBothValues || find_copies(field)) {
    return nullptr;
  }
  // Without its zeros first, for listing them takes long and wavelets do not ask for them.
  Chunk<T> chunk(field, bound, Effort::normal, workspace);
  chunk.estimate_others();
  Guide guide;
  guide.has_zeros = field.has_zeros;
  guide.lorenzo_bits = chunk.lorenzo_bits();
  guide.bits = chunk.others_bits();
  if (!(guide.lorenzo_bits < kEndless) || guide.bits < kNearlyEmptyBits) return nullptr;
  if (chunk.suits_wavelets()) {
    if (is_trial_size(field.shape)) return nullptr;
    const auto trial = try_wavelet(field, bound, chunk.estimate.mode, false, workspace);
    if (trial.says_little) return nullptr;
    if (trial.wins) {
      guide.way = Guide::Way::wavelet;
      guide.bits *= kWaveletAdvantage;
      return std::make_shared<const Guide>(guide);
    }
    if (trial.share < kLosesEverywhere) return nullptr;
  }
  if (field.has_zeros) {
    chunk.find_zeros();
    chunk.estimate_others();
  }
  guide.interpolation = chunk.estimate.mode;
  guide.bits = kGuidedSlack * chunk.others_bits();
  const double interpolated = chunk.estimate.bits_per_value;
  if (interpolated < kClearlyBetter * guide.lorenzo_bits) {
    guide.way = Guide::Way::interpolation;
  } else if (guide.lorenzo_bits < kClearlyBetter * interpolated) {
    guide.way = Guide::Way::lorenzo;
  } else {
    return nullptr;
  }
  return std::make_shared<const Guide>(guide);
}

}  // namespace tensorpress::dense
