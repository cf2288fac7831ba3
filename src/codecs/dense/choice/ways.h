// The ways in which a chunk can be coded. Each writes which it is and what its decoder needs, or
// gives nothing where that does not fit.
#pragma once

#include <algorithm>
#include <span>

#include "codecs/dense/choice/chunk.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/recurring/coding.h"

namespace tensorpress::dense {

// The first byte of what a chunk's coder wrote.
enum Predictor : std::uint8_t {
  kLorenzo = 0,
  kInterpolation = 1,
  kWavelet = 2,
  kRecurring = 3,
  kWaveletOfLine = 4,
};

// A chunk that takes no more is coded without weights of its own too.
inline constexpr std::size_t kFewBytes = 2048;
// Adaptive coding takes some 50 ns a value and bit: as much as all else in chunks of so many
// values, or bits a value.
inline constexpr std::size_t kMostAdaptedValues = std::size_t{1} << 19;
inline constexpr double kMostAdaptedBits = 0.5;

struct ChoiceBuffers {
  AlignedBuffer other;  // what the second predictor wrote
  AlignedBuffer wavelet, plain_wavelet, best_wavelet;
  AlignedBuffer palette, best_palette;
  AlignedBuffer copied, new_planes;
};

// Nothing where values do not recur.
template <class T>
std::span<const std::byte> by_palette(const bounded::Field<T>& field, double bound,
                                      const PaletteEffort& effort, std::size_t room,
                                      ChunkWorkspace& workspace) {
  const auto to = workspace.memory.of<ChoiceBuffers>().palette.reserve(room);
  if (to.empty()) return {};
  to[0] = std::byte{kRecurring};
  const auto bytes = encode_palette(field, bound, effort, to.subspan(1), workspace);
  return bytes ? to.first(*bytes + 1) : std::span<const std::byte>();
}

// What takes longer need not be smaller.
template <class T>
std::span<const std::byte> by_best_palette(const bounded::Field<T>& field, double bound,
                                           const PaletteEffort& quick, std::size_t room,
                                           ChunkWorkspace& workspace) {
  const auto thorough = by_palette(field, bound, {.thorough = true}, room, workspace);
  auto& buffers = workspace.memory.of<ChoiceBuffers>();
  std::swap(buffers.palette, buffers.best_palette);
  const std::size_t left = thorough.empty() ? room : thorough.size() - 1;
  const auto other = by_palette(field, bound, quick, left, workspace);
  return other.empty() ? thorough : other;
}

template <class T>
std::optional<WaveletCoded> code_wavelet(const Chunk<T>& chunk, WaveletMode mode,
                                         std::span<std::byte> output) {
  if (output.empty()) return std::nullopt;
  const bool lanes = wavelet_form_of(chunk.field.shape) == WaveletForm::lanes;
  output[0] = static_cast<std::byte>(lanes ? kWaveletOfLine : kWavelet);
  if (mode.rare == kRare) mode.rare = chunk.rare();
  auto coded = encode_wavelet(chunk.field, chunk.bound, mode, chunk.zeros, output.subspan(1),
                              chunk.workspace);
  if (coded) coded->bytes += 1;
  return coded;
}

// Weights of its own take as much as they save where a chunk takes little.
template <class T>
std::span<const std::byte> or_without_weights(const Chunk<T>& chunk, WaveletMode mode,
                                              std::span<const std::byte> coded) {
  if (coded.size() > kFewBytes) return coded;
  auto& buffers = chunk.workspace.memory.template of<ChoiceBuffers>();
  mode.fit_weights = false;
  const auto to = buffers.plain_wavelet.reserve(coded.size() - 1);
  const auto plain = code_wavelet(chunk, mode, to);
  if (!plain) return coded;
  std::swap(buffers.wavelet, buffers.plain_wavelet);
  return to.first(plain->bytes);
}

template <class T>
std::span<const std::byte> by_wavelet(const Chunk<T>& chunk, const WaveletMode& mode,
                                      std::size_t room) {
  const auto to = chunk.workspace.memory.template of<ChoiceBuffers>().wavelet.reserve(room);
  const auto coded = code_wavelet(chunk, mode, to);
  return coded ? or_without_weights(chunk, mode, to.first(coded->bytes))
               : std::span<const std::byte>();
}

// Whether adaptive coding of any density may be tried: it takes long.
template <class T>
bool may_adapt(std::size_t bytes, const bounded::Field<T>& field) {
  return field.values.size() <= kMostAdaptedValues || bits_of(bytes, field) < kMostAdaptedBits;
}

template <class T>
std::span<const std::byte> by_best_wavelet(const Chunk<T>& chunk, std::size_t room) {
  auto& buffers = chunk.workspace.memory.template of<ChoiceBuffers>();
  std::span<const std::byte> best;
  WaveletMode mode;
  for (const std::uint8_t step : kWaveletSteps) {
    const auto bytes = by_wavelet(chunk, {.step = step}, room);
    if (bytes.empty() || (!best.empty() && bytes.size() >= best.size())) continue;
    std::swap(buffers.wavelet, buffers.best_wavelet);
    best = bytes;
    mode.step = step;
  }
  if (best.empty() || !may_adapt(best.size(), chunk.field)) return best;
  mode.rare = 0;
  const auto bytes = by_wavelet(chunk, mode, best.size() - 1);
  return bytes.empty() ? best : bytes;
}

// The simplest mode, which samples underestimate where little is coded.
template <class T>
InterpolationMode along_all_axes(const InterpolationMode& from, const bounded::Field<T>& field) {
  const Extents extents = fold(field.shape).extents;
  InterpolationMode mode;
  for (std::size_t axis = 0; axis < 3; ++axis) mode.along[axis] = extents[axis] > 1;
  mode.level_limit = from.level_limit;
  mode.shrink = from.shrink;
  mode.raise = from.raise;
  mode.rare = from.rare;
  return mode;
}

template <class T>
std::optional<std::size_t> by_interpolation(const Chunk<T>& chunk, std::span<std::byte> output) {
  if (output.empty()) return std::nullopt;
  output[0] = std::byte{kInterpolation};
  InterpolationMode mode = chunk.estimate.mode;
  mode.wide_stencils = chunk.effort == Effort::best;
  mode.rare = chunk.rare();
  const auto bytes = encode_interpolation(chunk.field, chunk.bound, mode, chunk.zeros,
                                          output.subspan(1), chunk.workspace);
  if (!bytes) return std::nullopt;
  std::size_t least = *bytes;
  const auto try_mode = [&](const InterpolationMode& another) {
    const auto other = chunk.workspace.memory.template of<ChoiceBuffers>().other.reserve(least - 1);
    const auto coded = encode_interpolation(chunk.field, chunk.bound, another, chunk.zeros, other,
                                            chunk.workspace);
    if (!coded) return;
    std::ranges::copy(other.first(*coded), output.begin() + 1);
    least = *coded;
  };
  if (chunk.tries_more() && bits_of(least, chunk.field) < kFewBits) {
    try_mode(along_all_axes(mode, chunk.field));
    if (chunk.field.has_zeros) {
      mode.keep_zeros = !mode.keep_zeros;
      try_mode(mode);
      mode.keep_zeros = !mode.keep_zeros;
    }
  }
  if (chunk.effort == Effort::best && may_adapt(least, chunk.field)) {
    mode.rare = 0;
    try_mode(mode);
  }
  return least + 1;
}

template <class T>
std::optional<std::size_t> by_lorenzo(const bounded::Field<T>& field, double bound,
                                      const std::optional<LorenzoPlan>& plan,
                                      std::span<std::byte> output, ChunkWorkspace& workspace) {
  if (!plan || output.empty()) return std::nullopt;
  output[0] = std::byte{kLorenzo};
  const auto bytes = encode_lorenzo(field, bound, *plan, output.subspan(1), workspace);
  return bytes ? std::optional(*bytes + 1) : std::nullopt;
}

// What interpolation wrote, or in its place what Lorenzo takes if that is smaller.
template <class T>
std::optional<std::size_t> or_by_lorenzo(std::optional<std::size_t> interpolated,
                                         const Chunk<T>& chunk, std::span<std::byte> output) {
  const auto other = chunk.workspace.memory.template of<ChoiceBuffers>().other.reserve(
      interpolated ? *interpolated - 1 : output.size());
  const auto predicted = by_lorenzo(chunk.field, chunk.bound, chunk.plan, other, chunk.workspace);
  if (!predicted) return interpolated;
  std::ranges::copy(other.first(*predicted), output.begin());
  return predicted;
}

}  // namespace tensorpress::dense
