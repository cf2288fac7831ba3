// What a wavelet chunk says before its coded words, and what both sides compute from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "codecs/dense/residuals/coding.h"
#include "codecs/dense/residuals/map.h"
#include "codecs/dense/wavelet/pyramid.h"
#include "codecs/dense/wavelet/weights.h"
#include "tensorpress/aligned_buffer.h"

namespace tensorpress::dense {

struct WaveletHeader {
  kernels::WaveletFilter filter{};
  kernels::WaveletEnds ends{};
  std::uint8_t step = 0;  // sixteenths of the bound, at most 127
  /// Values within the bound of zero are zero before they are corrected, so that zeros come back.
  bool snap = false;
  bool outliers = false, zeros = false, own_weights = false, corrections = false;
  std::size_t vectors = 1;  // or kAdaptive
  bool is_adaptive() const { return vectors == kAdaptive; }
  std::int64_t offset = 0;  // in steps, of all values
  std::uint8_t silent = 0;  // a bit a context group: class 0 has only zeros and takes no bits
  std::array<std::uint8_t, kBandGroups> shift{};  // of magnitudes in contexts
  std::uint64_t empty = 0;                        // a bit a band (number_of)
  ContextWeightSet weights = standard_context_weights();

  bool is_silent(std::size_t group) const { return ((silent >> group) & 1) != 0; }
  bool is_empty(const WaveletBand& band) const;
};

void write_header(const WaveletHeader& header, std::vector<std::byte>& bytes);
Result<WaveletHeader> read_wavelet_header(ByteReader& reader);

/// Level by level, finest first, in coding order.
std::size_t number_of(const WaveletBand& band);

template <class T>
struct WaveletSteps {
  WaveletSteps(double bound, std::uint8_t step)
      : coefficient(static_cast<T>(bound * (step / 16.0))),
        // A little less than two bounds, for the rounding of the sum.
        correction(static_cast<T>(bound * (2 - 0x1p-10))) {}
  T coefficient, correction;
};

template <class T>
T snapped(T value, T radius) {
  return value <= radius && value >= -radius ? static_cast<T>(0) : value;
}

/// The rANS table of each class of a group.
std::array<std::uint8_t, kernels::kScaleClasses> ids_of(
    const std::array<std::uint8_t, kernels::kScaleClasses>& map, bool silent);

/// The coarsest values are coded as what they differ from the plane before, or within the first one
/// from the parallelogram of the values before them.
class CoarseDifferences {
 public:
  explicit CoarseDifferences(const Extents& size)
      : size_(size), quanta_(size[0] * size[1] * size[2]) {}

  std::int32_t prediction(std::size_t z, std::size_t y, std::size_t x) const;
  void keep(std::size_t z, std::size_t y, std::size_t x, std::int32_t quantum) {
    quanta_[(z * size_[1] + y) * size_[2] + x] = quantum;
  }

 private:
  Extents size_;
  std::vector<std::int32_t> quanta_;
};

/// What the predictor keeps between chunks beside PredictorBuffers, for the encoder and the
/// decoder.
struct WaveletBuffers {
  AlignedBuffer scratch;
  AlignedBuffer corrections, misses;
  AlignedBuffer row, row_classes, moves;
  AlignedBuffer values;  // folded, or in lanes
  AlignedBuffer lanes;   // with holes marked
  AlignedBuffer aims;    // with listed zeros
};

}  // namespace tensorpress::dense
