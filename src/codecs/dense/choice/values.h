// A chunk by its values: as the stream's first chunk says, by a palette, or by a predictor.
#pragma once

#include "codecs/dense/choice/guided.h"

namespace tensorpress::dense {

inline constexpr double kTrustInFew = 0.125;
// Values that recur and take less than this of what others are estimated at are not tried
// otherwise.
inline constexpr double kPaletteAdvantage = 0.85;
inline constexpr double kPaletteAdvantageOverWavelets = 0.5;

// Without copies.
template <class T>
std::optional<std::size_t> by_values(const bounded::Field<T>& field, double bound, Effort effort,
                                     std::span<std::byte> output, ChunkWorkspace& workspace) {
  Chunk<T> chunk(field, bound, effort, workspace);
  chunk.find_zeros();
  if (const auto guided = by_guide(chunk, output)) return guided;
  chunk.estimate_others();
  const double others_bits = chunk.others_bits();
  const double trust = others_bits < kFewBits ? kTrustInFew : 1;
  const PaletteEffort quick = {.most_bits =
                                   others_bits / trust * static_cast<double>(field.values.size())};
  const auto numbered = effort == Effort::best
                            ? by_best_palette(field, bound, quick, output.size(), workspace)
                            : by_palette(field, bound, quick, output.size(), workspace);
  // What wavelets take is not estimated here; it may be half of what the others do.
  const double advantage =
      chunk.suits_wavelets() ? kPaletteAdvantageOverWavelets : kPaletteAdvantage;
  const bool certain = !numbered.empty() && effort != Effort::best &&
                       !nearly_empty(numbered.size(), field) &&
                       bits_of(numbered.size(), field) < advantage * others_bits;
  if (!certain) {
    const auto room = numbered.empty() ? output : output.first(numbered.size() - 1);
    const auto predicted = by_predictors(chunk, room);
    if (predicted || numbered.empty()) return predicted;
  }
  std::ranges::copy(numbered, output.begin());
  return numbered.size();
}

}  // namespace tensorpress::dense
