// Values of a chunk that are stored beside what its predictor codes: outliers as they are, zeros as
// runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "codecs/dense/lattice/lattice.h"  // Extents

namespace tensorpress::dense {

template <class T>
struct Outlier {
  std::uint64_t position;
  T value;
};
/// Sorts them first.
template <class T>
void append_outliers(std::vector<Outlier<T>>& outliers, std::vector<std::byte>& bytes);
template <class T>
Result<std::vector<Outlier<T>>> read_outliers(ByteReader& reader, std::size_t values);

/// Zeros that are not kept by the predictions themselves are listed as runs: of zeros, or of places
/// where zeros and others differ from `period` values before. Zeros along an edge of the domain or
/// below a coastline repeat from row to row, and then the list is short.
struct ZeroList {
  struct Run {
    std::uint64_t start, length;
  };
  std::uint64_t period = 0;
  std::vector<Run> runs;
  bool flagged = false;
  std::span<const std::byte> flags;  // then instead (adaptive/zero_flags.h), within the chunk read
};
/// A short list of all zeros, with a period of nothing, a row or a plane. Values within the bound
/// of zero may be listed too.
template <class T>
ZeroList list_zeros(std::span<const T> values, const Extents& extents, double bound);
/// What append_zeros writes.
std::size_t bytes_of(const ZeroList& zeros);
void append_zero_flags(std::span<const std::byte> flags, std::vector<std::byte>& bytes);
/// Not of an empty list, which would read as the beginning of a period.
void append_zeros(const ZeroList& zeros, std::vector<std::byte>& bytes);
Result<ZeroList> read_zeros(ByteReader& reader, std::size_t values);
/// Of a list without flags.
template <class T>
void set_zeros(const ZeroList& zeros, std::span<T> values);
template <class T>
Result<void> set_zeros(const ZeroList& zeros, std::span<T> values, const Extents& extents,
                       double bound);

}  // namespace tensorpress::dense
