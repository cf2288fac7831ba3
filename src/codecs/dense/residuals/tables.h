// The distributions of interpolation residuals and what they cost.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/rans/rans.h"

namespace tensorpress::dense {

/// A distribution symmetric about 0, or about -1/2 when `halved` (then it serves values from which
/// low bits were taken). frequencies[a] is that of a and of -a (of -1 - a when halved).
struct ResidualShape {
  bool halved = false;
  std::array<std::uint16_t, kernels::kRansEscapes> escapes{};
  std::vector<std::uint16_t> frequencies;
};

inline constexpr std::size_t kPlainTables = 31;  // by rising mean
inline constexpr std::size_t kHalvedShapes = 2;
inline constexpr std::size_t kMostLowBits = 16;
inline constexpr std::size_t kResidualTables = kPlainTables + kHalvedShapes * kMostLowBits;
/// What a bit costs: fine enough to add up zeros that take a few thousandths of one.
inline constexpr int kCostBits = 16;
inline constexpr std::uint32_t kCostUnit = std::uint32_t{1} << kCostBits;
/// Sizes of residuals that the cost tables tell apart: 0 to 31, then half octaves.
inline constexpr std::size_t kCostSizes = 84;
constexpr std::size_t cost_bin(std::uint32_t size) {
  if (size < 32) return size;
  const auto octave = static_cast<std::uint32_t>(std::bit_width(size)) - 1;
  return 2 * (octave - 5) + 32 + ((size >> (octave - 1)) & 1);
}
/// A size in the middle of a bin.
constexpr std::uint32_t size_of_bin(std::size_t bin) {
  if (bin < 32) return static_cast<std::uint32_t>(bin);
  const auto octave = (bin - 32) / 2 + 5;
  return (bin % 2 == 0 ? 5u : 7u) << (octave - 2);
}

class ResidualTables {
 public:
  explicit ResidualTables(std::span<const ResidualShape> shapes);

  const kernels::RansTables& rans() const { return rans_; }
  /// costs(bin)[table], in kCostUnit, of a residual of that size, mean of both signs. Table t is
  /// rANS table t + 1.
  const std::uint32_t* costs(std::size_t bin) const { return costs_.data() + bin * kPitch; }
  static constexpr std::size_t kPitch = (kResidualTables + 7) / 8 * 8;

 private:
  kernels::RansTables rans_;
  std::vector<std::uint32_t> costs_;
};

/// Of the shapes that ship, trained by train_interpolation.h; made once.
const ResidualTables& residual_tables();

}  // namespace tensorpress::dense
