// The wavelet predictor of `dense`: a long-filter transform of the chunk, coefficients quantized
// with a step of a few bounds, coded by classes that the decoder derives itself, then corrections
// for the values that are off by more than the bound. It suits smooth fields: one coefficient
// stands for many values.
//
// docs/format.md has the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/lattice/exact.h"
#include "codecs/dense/residuals/coding.h"
#include "kernels/wavelet/wavelet.h"

namespace tensorpress::dense {

struct WaveletMode {
  kernels::WaveletFilter filter = kernels::WaveletFilter::taps_25_19;
  kernels::WaveletEnds ends = kernels::WaveletEnds::through_point;
  std::uint8_t step = 40;    // of the coefficients, in sixteenths of the bound
  std::uint8_t thrift = 26;  // how much error may grow to save a bit, in 1/512 steps (an encoder's)
  bool fit_weights = true;
  std::uint32_t fit_samples = 12000;  // of a group, that weights are fitted to (an encoder's)
  std::uint32_t rare = kRare;         // for adaptive coding (an encoder's)
};

struct WaveletCoded {
  std::size_t bytes = 0;
  std::size_t corrections = 0;  // values that the transform alone misses
};
/// How a chunk was coded: a line as lanes side by side (lanes.h), all others as they are.
enum class WaveletForm : std::uint8_t { grid, lanes };
WaveletForm wavelet_form_of(const Shape& shape);
/// Nothing when it does not fit into `output` or the field does not suit wavelets. `zeros` is
/// zeros_of(field).
template <class T>
std::optional<WaveletCoded> encode_wavelet(const bounded::Field<T>& field, double bound,
                                           const WaveletMode& mode, const ZeroList& zeros,
                                           std::span<std::byte> output, ChunkWorkspace& workspace);
template <class T>
Result<void> decode_wavelet(std::span<const std::byte> input, const Shape& shape, double bound,
                            std::span<T> output, ChunkWorkspace& workspace,
                            WaveletForm form = WaveletForm::grid);

}  // namespace tensorpress::dense
