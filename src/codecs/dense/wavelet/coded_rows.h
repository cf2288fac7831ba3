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
  /// Corrections follow; drops those that there are.
  void begin_corrections();

  /// The tables of all classes, appended to `bytes` as the chunk has them. Classes become tables,
  /// and groups that need no bits are dropped: once, in the end. Returns their cost, as ChosenMap.
  std::uint64_t choose_tables(const WaveletHeader& header, std::vector<std::byte>& bytes, Isa isa);
  /// Groups of rANS, after choose_tables.
  std::size_t groups() const { return groups_; }
  /// Of the coefficients or, when they are there, of all rows.
  std::span<const std::int32_t> quanta() const { return quanta_.first(used_); }
  /// In the place of choose_tables and write.
  void write_adaptive(BitEncoder& coder) const;
  /// States and words; nothing when they do not fit.
  std::optional<std::size_t> write(std::size_t vectors, std::span<std::byte> output, Isa isa);

 private:
  using Ids = std::array<std::uint8_t, kernels::kScaleClasses>;
  ResidualHistogram histogram_of(const std::vector<RowSpan>& rows,
                                 const std::array<bool, kBandGroups>& silent,
                                 std::size_t wanted) const;
  void compact(const std::vector<RowSpan>& rows, const std::array<Ids, kBandGroups>& ids, Isa isa);

  PredictorBuffers& buffers_;
  std::span<std::int32_t> quanta_;
  std::span<std::uint8_t> classes_;
  std::vector<RowSpan> coefficients_, corrections_;
  bool correcting_ = false;
  std::size_t used_ = 0, used_by_coefficients_ = 0;
  std::size_t groups_ = 0;
};

}  // namespace tensorpress::dense
