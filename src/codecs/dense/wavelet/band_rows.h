// The order in which the coefficients of a chunk are coded, coarse to fine, row by row, with the
// class of each. What a row's contexts see is the same in the encoder and the decoder.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "codecs/dense/wavelet/magnitudes.h"
#include "codecs/dense/wavelet/pyramid.h"
#include "codecs/dense/wavelet/weights.h"
#include "kernels/contexts/contexts.h"
#include "tensorpress/aligned_buffer.h"

namespace tensorpress::dense {

inline std::size_t group_of(const WaveletBand& band) {
  if (band.which == 0 || band.level >= 2) return 4;
  return band.level == 1 ? 3 : static_cast<std::size_t>(std::popcount(band.which)) - 1;
}

/// Magnitudes of what has been coded, for the contexts of what comes.
class ContextMemory {
 public:
  ContextMemory(AlignedBuffer& buffer, const Pyramid& pyramid);

  MagnitudeGrid& band(int level, unsigned which) {
    return level == 0 ? current_ : bands_[static_cast<std::size_t>(level)][which];
  }
  /// Of all bands of a level that came before, cut off at kMostMagnitude.
  MagnitudeGrid& siblings(int level) { return siblings_[static_cast<std::size_t>(level)]; }
  /// Three planes of corrections, used in turn.
  MagnitudeGrid& corrections() { return corrections_; }
  std::uint16_t* parent_row() { return parent_row_; }
  std::uint8_t* class_row() { return class_row_; }
  const std::uint16_t* zeros() const { return zeros_ + kernels::kContextMargin; }
  /// Adds a finished band to its siblings.
  void finish(const WaveletBand& band);

 private:
  std::array<std::array<MagnitudeGrid, Pyramid::kBands + 1>, Pyramid::kMostLevels + 1> bands_;
  std::array<MagnitudeGrid, Pyramid::kMostLevels + 1> siblings_;
  MagnitudeGrid current_, corrections_;
  std::uint16_t* current_memory_ = nullptr;
  std::uint16_t* zeros_ = nullptr;
  std::uint16_t* parent_row_ = nullptr;
  std::uint8_t* class_row_ = nullptr;

  friend class BandRows;
};

/// One row of a band, ready to be coded.
struct BandRow {
  std::size_t group = 0;
  std::size_t z = 0, y = 0;
  std::size_t count = 0;
  const std::uint8_t* classes = nullptr;
  std::uint16_t* magnitudes = nullptr;  // the caller of code() fills them in
  kernels::ContextRows rows{};          // what the classes were made from
  kernels::ParentRows parents{};
  bool has_parents = false, parents_doubled = false;
};

class BandRows {
 public:
  BandRows(const Pyramid& pyramid, ContextMemory& memory, const ContextWeightSet& weights, Isa isa)
      : pyramid_(pyramid),
        memory_(memory),
        weights_(&weights),
        kernels_(kernels::context_kernels(isa)) {}
  /// Rows without classes, for features_of.
  BandRows(const Pyramid& pyramid, ContextMemory& memory, Isa isa)
      : pyramid_(pyramid), memory_(memory), kernels_(kernels::context_kernels(isa)) {}

  /// code(band, row) for every row of the bands that `skip(band)` does not name; false to give up.
  template <class Skip, class Code>
  bool for_each(const Skip& skip, const Code& code) {
    WaveletBand band{pyramid_.levels(), 0, {}, pyramid_.level(pyramid_.levels()).size};
    if (!rows_of(band, code)) return false;
    for (int level = pyramid_.levels() - 1; level >= 0; --level) {
      memory_.siblings(level).clear();
      for (const unsigned which : Pyramid::kOrder) {
        if (!pyramid_.band(level, which, band)) continue;
        begin(band);
        if (skip(band)) continue;
        if (!rows_of(band, code)) return false;
        memory_.finish(band);
      }
    }
    return true;
  }

  /// The same for corrections: code(row) for every row of the chunk.
  template <class Code>
  bool for_corrections(const Code& code) {
    const Extents& size = pyramid_.level(0).size;
    memory_.corrections().clear();
    for (std::size_t z = 0; z < size[0]; ++z) {
      for (std::size_t y = 0; y < size[1]; ++y) {
        const BandRow row = correction_row(z, y);
        if (!code(row)) return false;
      }
    }
    return true;
  }

 private:
  void begin(const WaveletBand& band);
  BandRow row_of(const WaveletBand& band, std::size_t z, std::size_t y);
  BandRow correction_row(std::size_t z, std::size_t y);
  void classify(BandRow& row);

  template <class Code>
  bool rows_of(const WaveletBand& band, const Code& code) {
    if (band.which == 0) memory_.band(band.level, 0).clear();
    for (std::size_t z = 0; z < band.size[0]; ++z) {
      for (std::size_t y = 0; y < band.size[1]; ++y) {
        const BandRow row = row_of(band, z, y);
        if (!code(band, row)) return false;
      }
    }
    return true;
  }

  const Pyramid& pyramid_;
  ContextMemory& memory_;
  const ContextWeightSet* weights_ = nullptr;
  kernels::ContextKernels kernels_;
};

/// What the contexts of one value saw, in the order of ContextWeights.
WeightFit::Features features_of(const BandRow& row, std::size_t at);

}  // namespace tensorpress::dense
