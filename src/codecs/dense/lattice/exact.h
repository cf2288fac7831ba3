// Values of a chunk that are stored beside what its predictor codes: outliers as they are, zeros as
// runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"

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

/// Zeros that are not kept by the predictions themselves are listed as runs.
struct ZeroRun {
  std::uint64_t start, length;
};
template <class T>
std::vector<ZeroRun> zero_runs(std::span<const T> values);
void append_zeros(const std::vector<ZeroRun>& runs, std::vector<std::byte>& bytes);
Result<std::vector<ZeroRun>> read_zeros(ByteReader& reader, std::size_t values);

}  // namespace tensorpress::dense
