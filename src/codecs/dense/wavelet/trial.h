// Whether a chunk is one for wavelets, and with which quanta: large ones are tried on a block from
// their middle, with the other predictor beside it.
#pragma once

#include <array>
#include <optional>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/interpolation/mode.h"
#include "codecs/dense/wavelet/wavelet.h"

namespace tensorpress::dense {

/// Of about as many values as a cube of 129 a side, for tensors whose last two or three axes are
/// long enough; nothing for others.
std::optional<Shape> wavelet_chunk_shape(const Shape& shape);

/// False for chunks that are small or have a short axis, and where other predictors take so many
/// bits a value that there may be nothing but noise to code.
bool suits_wavelets(const Shape& shape, double bits_of_others);

/// Whether differences along rows fall with their order, as where waves span many values: then a
/// transform may win however many bits a value takes. Looks at samples.
template <class T>
bool is_resolved(const bounded::Field<T>& field);

/// Steps of coefficients, in sixteenths of the bound: what encoders choose from.
inline constexpr std::array<std::uint8_t, 5> kWaveletSteps = {32, 36, 40, 48, 56};

/// Whether a trial would code most of the chunk: then it is coded both ways right away.
bool is_trial_size(const Shape& shape);

/// The mode for what the default one codes like this; the default one where no other can make it
/// smaller than `others`, what another predictor takes.
WaveletMode mode_after(const WaveletCoded& coded, std::size_t values,
                       std::optional<std::size_t> others);

/// Codes a block both ways, or for a small mean error all of a chunk that is nearly empty.
struct WaveletTrial {
  WaveletMode mode;          // that suits the chunk
  bool wins = false;         // over the other predictor
  bool says_little = false;  // wins without being better, for the block takes next to nothing
  double share = 0;          // of what the other predictor takes
};
/// The mode that suits the chunk if it is coded by wavelets: a block is coded only so.
template <class T>
WaveletMode wavelet_mode_of(const bounded::Field<T>& field, double bound,
                            ChunkWorkspace& workspace);
template <class T>
WaveletTrial try_wavelet(const bounded::Field<T>& field, double bound,
                         const InterpolationMode& other, bool nearly_empty,
                         ChunkWorkspace& workspace);

}  // namespace tensorpress::dense
