// Residual distributions as literals, and their costs in integers: no logarithm of the C library
// decides what is written.
#include "codecs/dense/interpolation_tables.h"

#include <algorithm>

namespace tensorpress::dense {
namespace {

const std::array<ResidualShape, kPlainTables + kHalvedShapes> kShapes = {{
    // SHAPES
    {false, {1, 0, 0, 1}, {4094}},
    {false, {1, 1, 1, 1}, {4084, 4}},
    {false, {1, 1, 1, 1}, {4080, 6}},
    {false, {1, 1, 1, 1}, {4076, 8}},
    {false, {1, 1, 1, 1}, {4070, 11}},
    {false, {1, 1, 1, 1}, {4060, 16}},
    {false, {1, 1, 1, 1}, {4046, 23}},
    {false, {1, 1, 1, 1}, {4028, 32}},
    {false, {1, 1, 1, 1}, {4002, 44, 1}},
    {false, {1, 1, 1, 1}, {3966, 62, 1}},
    {false, {1, 1, 1, 1}, {3914, 87, 2}},
    {false, {1, 1, 1, 1}, {3844, 120, 4}},
    {false, {1, 1, 1, 1}, {3746, 164, 8, 1}},
    {false, {2, 1, 1, 1}, {3617, 222, 14, 1}},
    {false, {2, 1, 1, 1}, {3443, 295, 26, 3}},
    {false, {2, 1, 1, 1}, {3211, 385, 48, 6, 1}},
    {false, {2, 1, 1, 1}, {2913, 486, 84, 15, 3, 1}},
    {false, {2, 1, 1, 1}, {2553, 586, 139, 33, 8, 2, 1}},
    {false, {3, 1, 1, 1}, {2142, 663, 211, 67, 22, 7, 2, 1, 1}},
    {false, {3, 1, 1, 1}, {1714, 694, 287, 119, 50, 21, 9, 4, 2, 1, 1}},
    {false, {4, 2, 1, 1}, {1318, 668, 344, 178, 93, 48, 25, 13, 7, 4, 2, 1, 1, 1}},
    {false, {4, 2, 1, 1}, {976, 595, 366, 226, 140, 86, 54, 33, 21, 13, 8, 5, 3, 2, 1, 1, 1, 1}},
    {false, {3, 3, 1, 1}, {706, 496, 349, 246, 174, 123, 87, 62, 44, 31, 22, 16,
                           11,  8,   6,   4,   3,   2,   2,  1,  1,  1,  1,  1}},
    {false, {2, 6, 1, 1}, {506, 395, 306, 238, 186, 145, 113, 88, 69, 54, 42, 33, 26, 20, 16, 12,
                           10,  8,   6,   5,   4,   3,   2,   2,  1,  1,  1,  1,  1,  1,  1}},
    {false, {1, 8, 1, 1}, {359, 303, 253, 211, 177, 148, 124, 104, 87, 73, 61, 51, 43, 36,
                           30,  26,  21,  18,  15,  13,  11,  9,   8,  6,  5,  5,  4,  3,
                           3,   2,   2,   2,   1,   1,   1,   1,   1,  1,  1,  1,  1}},
    {true, {2, 6, 1, 1}, {456, 352, 272, 211, 165, 129, 100, 78, 61, 47, 37, 29, 23, 18, 14,
                          11,  8,   7,   5,   4,   3,   3,   2,  2,  1,  1,  1,  1,  1,  1}},
    {true, {1, 8, 2, 1}, {334, 278, 232, 194, 162, 136, 114, 95, 80, 67, 56, 47, 39, 33,
                          28,  23,  20,  16,  14,  12,  10,  8,  7,  6,  5,  4,  3,  3,
                          2,   2,   2,   1,   1,   1,   1,   1,  1,  1,  1,  1,  1}},
    // END
}};

// 256 log2(4096 / frequency), by repeated squaring.
std::uint32_t cost_of(std::uint32_t frequency) {
  std::uint32_t whole = 0;
  while ((2u << whole) <= frequency) ++whole;
  std::uint64_t mantissa = (std::uint64_t{frequency} << 31) >> whole;  // [2^31, 2^32)
  std::uint32_t logarithm = whole;
  for (int bit = 0; bit < 8; ++bit) {
    mantissa = (mantissa * mantissa) >> 31;
    logarithm <<= 1;
    if (mantissa >= std::uint64_t{1} << 32) {
      mantissa >>= 1;
      ++logarithm;
    }
  }
  return (static_cast<std::uint32_t>(kernels::kRansBits) << 8) - logarithm;
}

kernels::RansTable rans_table(const ResidualShape& shape, int low_bits) {
  kernels::RansTable table;
  table.low_bits = low_bits;
  std::copy(shape.escapes.begin(), shape.escapes.end(), table.frequencies.begin());
  const auto at = [&](int symbol) -> std::uint16_t& {
    return table.frequencies[static_cast<std::size_t>(symbol - kernels::kRansFirstSymbol)];
  };
  for (std::size_t a = 0; a < shape.frequencies.size(); ++a) {
    const int symbol = static_cast<int>(a);
    at(symbol) = shape.frequencies[a];
    at(shape.halved ? -1 - symbol : -symbol) = shape.frequencies[a];
  }
  return table;
}

std::vector<kernels::RansTable> rans_tables(std::span<const ResidualShape> shapes) {
  std::vector<kernels::RansTable> tables;
  for (std::size_t t = 0; t < kPlainTables; ++t) tables.push_back(rans_table(shapes[t], 0));
  for (std::size_t k = 1; k <= kMostLowBits; ++k) {
    for (std::size_t s = 0; s < kHalvedShapes; ++s) {
      tables.push_back(rans_table(shapes[kPlainTables + s], static_cast<int>(k)));
    }
  }
  return tables;
}

std::uint32_t cost_of(const kernels::RansTable& table, std::int32_t value) {
  const std::int32_t high = value >> table.low_bits;
  const auto raw = static_cast<std::uint32_t>(table.low_bits) << 8;
  if (high >= kernels::kRansFirstSymbol + kernels::kRansEscapes && high <= 127) {
    const auto frequency =
        table.frequencies[static_cast<std::size_t>(high - kernels::kRansFirstSymbol)];
    if (frequency != 0) return raw + cost_of(frequency);
  }
  for (auto escape = static_cast<std::size_t>(kernels::rans_escape_of(high));
       escape < kernels::kRansEscapes; ++escape) {
    if (table.frequencies[escape] == 0) continue;
    return raw + cost_of(table.frequencies[escape]) +
           (static_cast<std::uint32_t>(kernels::kRansEscapeBits[escape]) << 8);
  }
  return 64u << 8;
}

}  // namespace

std::span<const ResidualShape> residual_shapes() {
  return kShapes;
}

ResidualTables::ResidualTables(std::span<const ResidualShape> shapes)
    : rans_(rans_tables(shapes)), costs_(kCostSizes * kPitch, 64u << 8) {
  const auto tables = rans_tables(shapes);
  for (std::size_t bin = 0; bin < kCostSizes; ++bin) {
    const auto value = static_cast<std::int32_t>(size_of_bin(bin));
    for (std::size_t t = 0; t < tables.size(); ++t) {
      costs_[bin * kPitch + t] = (cost_of(tables[t], value) + cost_of(tables[t], -value)) / 2;
    }
  }
}

const ResidualTables& residual_tables() {
  static const ResidualTables kTables(kShapes);
  return kTables;
}

}  // namespace tensorpress::dense
