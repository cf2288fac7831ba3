// The order in which the coefficients of a chunk are coded, coarse to fine, row by row, with the
// class of each. What a row's contexts see is the same in the encoder and the decoder.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// What came of coding a row.
enum class RowResult { failed, zeros, some };

/// One row of a band, ready to be coded.
struct BandRow {
  std::size_t group = 0;
  std::size_t z = 0, y = 0;
  std::size_t count = 0;
  std::uint8_t* classes = nullptr;
  void write_only_class() const { std::memset(classes, only_class, count); }
  std::uint16_t* magnitudes = nullptr;  // code() fills them in unless all are zero
  kernels::ContextRows rows{};          // what the classes were made from
  kernels::ParentRows parents{};
  bool parents_doubled = false;
  /// Zeros all around: all classes are this one, and are not written.
  bool is_quiet = false;
  std::uint8_t only_class = 0;
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

  /// RowResult code(band, row) for every row of the bands that `skip(band)` does not name.
  template <class Skip, class Code>
  bool for_each(const Skip& skip, const Code& code) {
    WaveletBand band{pyramid_.levels(), 0, {}, pyramid_.level(pyramid_.levels()).size};
    begin(band);
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
    begin_corrections();
    for (std::size_t z = 0; z < pyramid_.level(0).size[0]; ++z) {
      if (!for_corrections(z, code)) return false;
    }
    return true;
  }
  /// Plane by plane, in their order.
  void begin_corrections();
  template <class Code>
  bool for_corrections(std::size_t z, const Code& code) {
    for (std::size_t y = 0; y < pyramid_.level(0).size[1]; ++y) {
      const BandRow& row = correction_row(z, y);
      if (!keep(memory_.corrections(), z % 3, row, code(row))) return false;
    }
    return true;
  }

 private:
  void begin(const WaveletBand& band);
  const BandRow& row_of(const WaveletBand& band, std::size_t z, std::size_t y);
  const BandRow& correction_row(std::size_t z, std::size_t y);
  void find_parents(const MagnitudeGrid& parent, const std::array<bool, 3>& split);
  const BandRow& classify(bool any);
  void set_parents(const MagnitudeGrid* parents);

  template <class Code>
  bool rows_of(const WaveletBand& band, const Code& code) {
    for (std::size_t z = 0; z < band.size[0]; ++z) {
      for (std::size_t y = 0; y < band.size[1]; ++y) {
        const BandRow& row = row_of(band, z, y);
        if (!keep(memory_.band(band.level, band.which), z, row, code(band, row))) return false;
      }
    }
    return true;
  }
  static bool keep(MagnitudeGrid& grid, std::size_t z, const BandRow& row, RowResult result) {
    if (result == RowResult::some) {
      grid.keep(z, row.y, row.count);
    } else {
      grid.drop(z, row.y);
    }
    return result != RowResult::failed;
  }

  const Pyramid& pyramid_;
  ContextMemory& memory_;
  const ContextWeightSet* weights_ = nullptr;
  kernels::ContextKernels kernels_;
  BandRow row_;
  const MagnitudeGrid* parents_ = nullptr;  // of the band's next coarser one
  // Rows beside each other share their parents: where these are, and what memory_.parent_row() is
  // made from.
  bool has_parent_row_ = false, any_parents_ = false;
  std::size_t parent_z_ = 0, parent_y_ = 0;
};

/// What the contexts of one value saw, in the order of ContextWeights.
WeightFit::Features features_of(const BandRow& row, std::size_t at);

}  // namespace tensorpress::dense
