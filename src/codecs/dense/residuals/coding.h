// The residuals of a chunk on their way into it: rows that are padded to whole groups of rANS, each
// with the classes of its residuals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "codecs/chunk_codec.h"
#include "codecs/dense/residuals/map.h"
#include "kernels/rans/rans.h"

namespace tensorpress::dense {

/// Where a row's residuals are.
struct RowSpan {
  std::size_t
      start;  // of padded rows, so that chunks of fewer than 2^32 values may reach beyond it
  std::uint32_t count;
  std::uint32_t group;
};

inline std::size_t padded_count(std::size_t count) {
  return (count + kernels::kRansGroup - 1) / kernels::kRansGroup * kernels::kRansGroup;
}

/// How many vectors of states serve so many groups, which take `cost` (of a ChosenMap): many are
/// fast, but each takes 64 bytes.
std::size_t vectors_for(std::size_t groups, std::uint64_t cost);

/// In the place of a number of vectors of states: bits with contexts (adaptive/quanta.h).
inline constexpr std::size_t kAdaptive = 8;
/// One of so many residuals may be not zero where they are coded that way: decoding takes some 100
/// ns for each of them, half of the time of a whole chunk where it is one in 32. 0: any number.
inline constexpr std::uint32_t kRare = 32, kVeryRare = 128;
/// Whether so few of `values` are not zero.
inline bool hardly_any(std::size_t not_zero, std::size_t values, std::uint32_t rare) {
  return not_zero * rare <= values;
}
std::size_t count_not_zero(std::span<const std::int32_t> residuals);

inline constexpr std::size_t kAllResiduals = ~std::size_t{0};
/// Of about `wanted` residuals a group.
ResidualHistogram sample_histogram(const std::vector<RowSpan>& spans, const std::uint8_t* classes,
                                   const std::int32_t* residuals, std::size_t wanted);

/// Chooses tables by a sample: histogram_of(wanted) counts about so many residuals or groups of
/// them. Where hardly a residual is not zero, a sample would miss most of those that are not, and
/// all are counted. Appends the map to `bytes`.
ChosenMap choose_map_by_sample(const std::function<ResidualHistogram(std::size_t)>& histogram_of,
                               std::size_t wanted, std::vector<std::byte>& bytes);

/// Turns classes into tables and writes states and words; nothing when they do not fit.
std::optional<std::size_t> write_residuals(const std::vector<RowSpan>& spans, const TableMap& map,
                                           std::span<std::uint8_t> classes,
                                           std::span<const std::int32_t> residuals,
                                           std::size_t vectors, std::span<std::byte> output,
                                           ChunkWorkspace& workspace);

}  // namespace tensorpress::dense
