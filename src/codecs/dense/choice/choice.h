// Which way a chunk is coded: by samples and trials, or by trying all.
#pragma once

#include "codecs/dense/choice/ways.h"
#include "codecs/dense/wavelet/trial.h"

namespace tensorpress::dense {

// Samples lack the coarsest levels, so interpolation is estimated 5 to 25 percent too high: below
// this share of the estimate Lorenzo wins, up to 1 either may.
inline constexpr double kLorenzoAdvantage = 0.85;
// What samples foretell of Lorenzo may be so much too high.
inline constexpr double kLorenzoMayWin = 0.96;
// Interpolation is taken into account where wavelets need more than this of what it is estimated
// at.
inline constexpr double kWaveletAdvantage = 0.9;

template <class T>
std::optional<std::size_t> by_others(const Chunk<T>& chunk, std::span<std::byte> output) {
  const bounded::Field<T>& field = chunk.field;
  const double lorenzo_bits = chunk.lorenzo_bits();
  const bool try_both = chunk.tries_more();
  if (!try_both && lorenzo_bits < kLorenzoAdvantage * chunk.estimate.bits_per_value) {
    const auto bytes = by_lorenzo(field, chunk.bound, chunk.plan, output, chunk.workspace);
    if (!bytes || bits_of(*bytes, field) >= kFewBits) return bytes;
  }
  const auto bytes = by_interpolation(chunk, output);
  const double bits = bytes ? bits_of(*bytes, field) : kEndless;
  // What Lorenzo takes is known better from samples than what interpolation takes.
  if (!try_both && bits <= kLorenzoMayWin * lorenzo_bits && bits >= kFewBits) return bytes;
  return or_by_lorenzo(bytes, chunk, output);
}

// Of a chunk so small that a trial would cost as much.
template <class T>
std::optional<std::size_t> by_both(const Chunk<T>& chunk, std::span<std::byte> output) {
  const auto others = by_others(chunk, output);
  auto& buffers = chunk.workspace.memory.template of<ChoiceBuffers>();
  const auto whole = buffers.wavelet.reserve(output.size());
  const auto coded = code_wavelet(chunk, WaveletMode(), whole);
  if (!coded) return others;
  const WaveletMode mode = mode_after(*coded, chunk.field.values.size(), others);
  const std::size_t room = others ? *others - 1 : output.size();
  const auto transformed = mode.step == WaveletMode().step
                               ? or_without_weights(chunk, mode, whole.first(coded->bytes))
                               : by_wavelet(chunk, mode, room);
  if (transformed.empty() || transformed.size() > room) return others;
  std::ranges::copy(transformed, output.begin());
  return transformed.size();
}

// By one of the three predictors of values.
template <class T>
std::optional<std::size_t> by_predictors(const Chunk<T>& chunk, std::span<std::byte> output) {
  const bounded::Field<T>& field = chunk.field;
  const bool suits_wavelets = chunk.suits_wavelets();
  const bool all_steps = chunk.effort == Effort::best && !field.mean_counts;
  if (suits_wavelets && !all_steps && !field.mean_counts && is_trial_size(field.shape)) {
    return by_both(chunk, output);
  }
  std::span<const std::byte> transformed;
  WaveletTrial trial;
  if (suits_wavelets && all_steps) {
    transformed = by_best_wavelet(chunk, output.size());
  } else if (suits_wavelets) {
    trial = try_wavelet(field, chunk.bound, chunk.estimate.mode, chunk.others_bits() < kFewBits,
                        chunk.workspace);
    if (trial.wins) transformed = by_wavelet(chunk, trial.mode, output.size());
  }
  // What samples foretell is a few percent off, and more for planes that have zeros.
  const bool certain =
      !transformed.empty() &&
      (field.mean_counts ||
       (chunk.effort != Effort::best && !trial.says_little &&
        !(field.has_zeros && field.shape.rank() == 2) &&
        (!chunk.tries_more() || !nearly_empty(transformed.size(), field)) &&
        bits_of(transformed.size(), field) < kWaveletAdvantage * chunk.others_bits()));
  if (!certain) {
    const auto others = by_others(chunk, output);
    if (others && suits_wavelets && !trial.wins && !all_steps && !field.mean_counts &&
        nearly_empty(*others, field)) {
      transformed = by_wavelet(chunk, trial.mode, *others);
    }
    if (others && (transformed.empty() || *others <= transformed.size())) return others;
  }
  if (transformed.empty()) return std::nullopt;
  std::ranges::copy(transformed, output.begin());
  return transformed.size();
}

}  // namespace tensorpress::dense
