// Which table codes which class of residuals, per group of rows: chosen by the encoder from
// histograms, in the chunk's header as a few bits a class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "codecs/dense/residuals/tables.h"
#include "kernels/interpolation/interpolation.h"

namespace tensorpress::dense {

/// Rows that share tables; each predictor says which.
inline constexpr std::size_t kRowGroups = 5;

/// map[group][class] is a rANS table; 16-byte rows for the kernels.
struct TableMap {
  alignas(16) std::array<std::array<std::uint8_t, kernels::kScaleClasses>, kRowGroups> ids{};
};

/// Residuals by group, class and size, the large ones in half octaves.
struct ResidualHistogram {
  using Sizes = std::array<std::uint32_t, kCostSizes>;
  std::array<std::array<Sizes, kernels::kScaleClasses>, kRowGroups> counts{};
  std::array<std::uint32_t, kRowGroups> used{};  // a bit a class
  /// One of so many residuals of the group was counted.
  std::array<std::uint32_t, kRowGroups> sampled = {1, 1, 1, 1, 1};

  void add(std::size_t group, const std::uint8_t* classes, const std::int32_t* residuals,
           std::size_t count) {
    std::uint32_t met = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t r = residuals[i];
      const auto size = static_cast<std::uint32_t>(r < 0 ? -r : r);
      ++counts[group][classes[i]][cost_bin(size)];
      met |= 1u << classes[i];
    }
    used[group] |= met;
  }
};

struct ChosenMap {
  TableMap map;
  std::uint64_t cost = 0;  // of the counted residuals and of the map, kCostUnit a bit
};
/// Appends the map to `bytes`, if given; read_map is the inverse.
ChosenMap choose_map(const ResidualHistogram& histogram, const ResidualTables& tables,
                     std::vector<std::byte>* bytes);
Result<TableMap> read_map(ByteReader& reader);

}  // namespace tensorpress::dense
