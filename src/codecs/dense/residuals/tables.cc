// Residual distributions as literals, and their costs in integers: no logarithm of the C library
// decides what is written. The shapes are interpolation_shapes.txt of `tensorpress codebook build
// --codec dense` over the training side of bench/dense_split.json. Do not edit: streams are written
// with exactly these.
#include "codecs/dense/residuals/tables.h"

#include <algorithm>

namespace tensorpress::dense {
namespace {

// Never destroyed: HDF5 may still compress chunks while the process ends.
using Shapes = std::array<ResidualShape, kPlainTables + kHalvedShapes>;
const Shapes& kShapes = *new const Shapes{{
    // SHAPES
    {false, {0, 0, 0, 1}, {4095}},
    {false, {0, 0, 0, 1}, {4093, 1}},
    {false, {0, 0, 0, 1}, {4093, 1}},
    {false, {1, 0, 0, 1}, {4094}},
    {false, {0, 0, 0, 1}, {4091, 2}},
    {false, {0, 0, 0, 1}, {4089, 3}},
    {false, {0, 0, 0, 1}, {4087, 4}},
    {false, {0, 0, 0, 1}, {4083, 6}},
    {false, {0, 0, 0, 1}, {4077, 9}},
    {false, {0, 0, 0, 1}, {4059, 18}},
    {false, {1, 0, 0, 1}, {4020, 37}},
    {false, {1, 0, 0, 1}, {4014, 35, 4, 1}},
    {false, {1, 0, 0, 1}, {3976, 59}},
    {false, {1, 0, 0, 1}, {3890, 101, 1}},
    {false, {3, 4, 1, 1}, {4051, 11, 2, 1, 1, 1, 0, 1, 0, 0, 0, 1}},
    {false, {1, 0, 0, 1}, {3764, 164, 1}},
    {false, {1, 0, 0, 1}, {3578, 253, 4, 1}},
    {false, {1, 0, 0, 1}, {3288, 388, 13, 2}},
    {false, {4, 0, 0, 1}, {3441, 207, 97, 9, 4, 2, 3, 1, 1, 1}},
    {false, {2, 0, 0, 1}, {2887, 553, 38, 8, 3, 1}},
    {false, {1, 0, 0, 1}, {2376, 745, 93, 15, 4, 1, 1}},
    {false, {4, 1, 0, 1}, {2198, 683, 175, 48, 19, 9, 5, 3, 2, 1, 1}},
    {false, {2, 0, 0, 1}, {1585, 1043, 169, 30, 7, 3, 1, 1}},
    {false, {2, 1, 0, 1}, {1480, 825, 305, 106, 37, 15, 7, 4, 3, 1, 1, 1, 1}},
    {false, {4, 1, 0, 1}, {1054, 747, 404, 188, 87, 42, 21, 10, 6, 3, 3, 2, 1, 1,
                           1,    1,   0,   0,   0,  0,  0,  0,  0, 0, 0, 0, 1}},
    {false, {5, 2, 0, 1}, {794, 594, 427, 269, 148, 85, 47, 27, 17, 10, 6,
                           4,   3,   2,   2,   1,   1,  1,  1,  1,  1}},
    {false, {1, 1, 0, 1}, {2297, 485, 44, 8, 4, 3, 2, 1, 1, 1, 1, 1, 5, 37, 141, 153, 10, 1}},
    {false, {3, 4, 0, 1}, {552, 427, 354, 296, 213, 146, 99, 66, 47, 32, 22, 16, 12, 9,
                           7,   5,   3,   3,   2,   2,   1,  1,  1,  1,  1,  1,  1}},
    {false, {0, 104, 1, 1}, {414, 302, 262, 226, 188, 160, 135, 105, 78, 64, 50, 39, 33, 25,
                             21,  17,  13,  10,  9,   8,   6,   5,   4,  3,  3,  3,  2,  2,
                             2,   1,   1,   1,   1,   1,   1,   1,   1,  1,  1,  1,  1,  1}},
    {false,
     {0, 38, 22, 1},
     {2435, 115, 81, 78, 58, 43, 40, 30, 25, 24, 18, 22, 17, 14, 14, 12, 9, 11, 9, 8, 8, 6,
      7,    7,   5,  5,  7,  5,  4,  4,  6,  4,  3,  5,  5,  4,  4,  4,  4, 3,  4, 2, 3, 3,
      2,    3,   3,  2,  2,  2,  1,  2,  2,  1,  1,  1,  1,  1,  1,  1,  1, 1,  1, 1, 1, 1,
      1,    1,   1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1, 0,  1, 1, 1, 1,
      0,    0,   1,  1,  0,  1,  1,  1,  0,  1,  0,  0,  0,  0,  0,  0,  0, 1}},
    {false, {3, 3, 0, 1}, {133, 47, 16, 11, 27, 124, 290, 744, 547, 84, 19, 7,
                           10,  4,  6,  6,  1,  1,   1,   2,   4,   9,  12, 6}},
    {true, {1, 6, 1, 2}, {456, 352, 272, 211, 165, 129, 100, 78, 61, 47, 37, 29, 23, 18, 14,
                          11,  8,   7,   5,   4,   3,   3,   2,  2,  1,  1,  1,  1,  1,  1}},
    {true, {0, 9, 1, 2}, {334, 278, 233, 194, 162, 136, 114, 95, 80, 67, 56, 47, 39, 33,
                          28,  23,  20,  16,  14,  12,  10,  8,  7,  6,  5,  4,  3,  3,
                          2,   2,   2,   1,   1,   1,   1,   1,  1,  1,  1,  1}},
    // END
}};

// kCostUnit log2(4096 / frequency), by repeated squaring.
std::uint32_t cost_of(std::uint32_t frequency) {
  std::uint32_t whole = 0;
  while ((2u << whole) <= frequency) ++whole;
  std::uint64_t mantissa = (std::uint64_t{frequency} << 31) >> whole;  // [2^31, 2^32)
  std::uint32_t logarithm = whole;
  for (int bit = 0; bit < kCostBits; ++bit) {
    mantissa = (mantissa * mantissa) >> 31;
    logarithm <<= 1;
    if (mantissa >= std::uint64_t{1} << 32) {
      mantissa >>= 1;
      ++logarithm;
    }
  }
  return (static_cast<std::uint32_t>(kernels::kRansBits) << kCostBits) - logarithm;
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
  const auto raw = static_cast<std::uint32_t>(table.low_bits) << kCostBits;
  if (high >= kernels::kRansFirstSymbol + kernels::kRansEscapes && high <= 127) {
    const auto frequency =
        table.frequencies[static_cast<std::size_t>(high - kernels::kRansFirstSymbol)];
    if (frequency != 0) return raw + cost_of(frequency);
  }
  for (auto escape = static_cast<std::size_t>(kernels::rans_escape_of(high));
       escape < kernels::kRansEscapes; ++escape) {
    if (table.frequencies[escape] == 0) continue;
    return raw + cost_of(table.frequencies[escape]) +
           (static_cast<std::uint32_t>(kernels::kRansEscapeBits[escape]) << kCostBits);
  }
  return 64u << kCostBits;
}

}  // namespace

ResidualTables::ResidualTables(std::span<const ResidualShape> shapes)
    : rans_(rans_tables(shapes)), costs_(kCostSizes * kPitch, 64u << kCostBits) {
  const auto tables = rans_tables(shapes);
  for (std::size_t bin = 0; bin < kCostSizes; ++bin) {
    const auto value = static_cast<std::int32_t>(size_of_bin(bin));
    for (std::size_t t = 0; t < tables.size(); ++t) {
      costs_[bin * kPitch + t] = (cost_of(tables[t], value) + cost_of(tables[t], -value)) / 2;
    }
  }
}

const ResidualTables& residual_tables() {
  // Never destroyed either.
  static const ResidualTables& tables = *new const ResidualTables(kShapes);
  return tables;
}

}  // namespace tensorpress::dense
