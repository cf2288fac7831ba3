// The rows of a wavelet chunk on their way into it: coefficients, then corrections, each padded to
// whole groups of rANS, with the classes of their quanta.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codecs/dense/adaptive/quanta.h"
#include "codecs/dense/predictor_buffers.h"
#include "codecs/dense/residuals/coding.h"
#include "codecs/dense/wavelet/band_rows.h"
#include "codecs/dense/wavelet/header.h"

namespace tensorpress::dense {

class CodedRows {
 public:
  /// With room for so many quanta of padded rows.
  CodedRows(PredictorBuffers& buffers, std::size_t most);

  /// Room for the quanta of the next row, of coefficients until corrections begin.
  std::int32_t* begin(const BandRow& row);
  /// The next row, of which all quanta are zero. Where its classes are all the same, nothing is
  /// stored.
  void add_zeros(const BandRow& row);
  /// Corrections follow; drops those that there are.
  void begin_corrections();

  /// The tables of all classes, appended to `bytes` as the chunk has them. Classes become tables,
  /// and groups that need no bits are dropped: once, in the end. Returns their cost, as ChosenMap.
  std::uint64_t choose_tables(const WaveletHeader& header, std::vector<std::byte>& bytes, Isa isa);
  /// Groups of rANS, after choose_tables.
  std::size_t groups() const { return groups_; }
  /// Of the coefficients or, when they are there, of all rows: quanta, and those that are not zero.
  std::size_t size() const { return used_; }
  std::size_t count_not_zero() const;
  /// In the place of choose_tables and write.
  void write_adaptive(BitEncoder& coder) const;
  /// States and words; nothing when they do not fit.
  std::optional<std::size_t> write(std::size_t vectors, std::span<std::byte> output, Isa isa);

 private:
  using Ids = std::array<std::uint8_t, kernels::kScaleClasses>;
  struct Span {
    std::size_t start;
    std::uint32_t count;
    std::uint16_t group;
    bool empty;               // zeros of one class, which are not stored
    std::uint8_t only_class;  // if it is empty
  };
  void add_span(const BandRow& row, bool empty);
  ResidualHistogram histogram_of(const std::vector<Span>& rows,
                                 const std::array<bool, kBandGroups>& silent,
                                 std::size_t wanted) const;
  void compact(const std::vector<Span>& rows, const std::array<Ids, kBandGroups>& ids, Isa isa);

  PredictorBuffers& buffers_;
  std::span<std::int32_t> quanta_;
  std::span<std::uint8_t> classes_;
  std::vector<Span> coefficients_, corrections_;
  bool correcting_ = false;
  std::size_t used_ = 0, used_by_coefficients_ = 0;
  std::size_t groups_ = 0;
};

}  // namespace tensorpress::dense
