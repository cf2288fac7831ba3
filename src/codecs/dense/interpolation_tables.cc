// Residual distributions as literals, and their costs in integers: no logarithm of the C library
// decides what is written.
#include "codecs/dense/interpolation_tables.h"

#include <algorithm>

namespace tensorpress::dense {
namespace {

const std::array<ResidualShape, kPlainTables + kHalvedShapes> kShapes = {{
    // SHAPES
    {false, {0, 0, 0, 1}, {4095}},
    {false, {1, 0, 0, 1}, {4092, 1}},
    {false, {0, 0, 0, 1}, {4087, 4}},
    {false, {0, 0, 0, 1}, {4079, 8}},
    {false, {0, 0, 0, 1}, {4059, 18}},
    {false, {0, 0, 0, 1}, {4029, 33}},
    {false, {3, 0, 0, 1}, {4040, 22, 3, 1}},
    {false, {1, 0, 0, 1}, {3978, 58}},
    {false, {1, 0, 0, 1}, {3886, 103, 1}},
    {false, {3, 0, 0, 1}, {3904, 72, 11, 5, 3, 2, 1}},
    {false, {7, 7, 0, 1}, {4057, 8, 1, 0, 1, 1, 1}},
    {false, {1, 0, 0, 1}, {3694, 190, 7, 2, 1}},
    {false, {1, 0, 0, 1}, {3378, 345, 10, 2, 1}},
    {false, {2, 0, 0, 1}, {2963, 533, 27, 4, 1}},
    {false, {4, 1, 0, 1}, {2986, 434, 79, 21, 9, 4, 2, 1, 1, 1}},
    {false, {7, 7, 0, 1}, {3429, 206, 53, 27, 13, 7, 4, 4, 3, 2, 1, 1, 1, 1, 1,
                           0,    1,   0,  0,  0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                           0,    0,   0,  0,  0,  0, 0, 0, 0, 0, 0, 0, 0, 1}},
    {false, {2, 0, 0, 1}, {2273, 782, 102, 18, 5, 2, 1}},
    {false, {4, 28, 20, 3}, {3857, 24, 15, 10, 7, 5, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 1, 0,
                             1,    0,  1,  1,  1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}},
    {false, {4, 1, 0, 1}, {2270, 566, 192, 76, 34, 17, 9, 5, 3, 2, 1, 1, 1, 1, 1, 1}},
    {false, {4, 1, 0, 1}, {1536, 865, 270, 84, 31, 13, 6, 3, 2, 1, 1, 1}},
    {false, {3, 7, 1, 1}, {2470, 297, 183, 112, 66, 43, 24, 17, 12, 8, 6, 5, 3, 3, 3, 2,
                           2,    1,   1,   1,   1,  1,  1,  0,  1,  0, 0, 0, 1, 1, 0, 1,
                           0,    1,   1,   1,   1,  1,  1,  1,  1,  0, 1, 1, 0, 1}},
    {false, {5, 1, 0, 1}, {987, 728, 419, 197, 97, 48, 25, 14, 8, 5, 3, 2, 1, 1, 1, 1, 1}},
    {false, {2, 6, 0, 1}, {1645, 368, 261, 179, 120, 84, 58, 40, 27, 20, 14, 11, 8, 6, 4,
                           4,    3,   2,   2,   2,   1,  1,  1,  1,  1,  1,  0,  1, 1}},
    {false, {3, 6, 1, 1}, {605, 523, 422, 293, 180, 111, 69, 43, 28, 19, 12, 9, 7, 5,
                           4,   3,   2,   2,   1,   1,   1,  1,  1,  1,  1,  0, 1}},
    {false,
     {0, 31, 1, 1},
     {2215, 122, 111, 96, 84, 70, 57, 52, 43, 34, 36, 27, 22, 20, 15, 14, 13, 11, 9, 8, 7, 6, 5,
      5,    5,   4,   5,  3,  3,  3,  2,  2,  2,  2,  2,  1,  1,  1,  1,  1,  1,  1, 1, 1, 1, 1,
      1,    1,   1,   1,  1,  1,  1,  1,  1,  1,  1,  0,  0,  0,  1,  0,  0,  0,  0, 0, 0, 0, 1}},
    {false, {0, 14, 1, 1}, {372, 310, 282, 249, 213, 174, 138, 107, 84, 63, 48, 37, 29,
                            22,  18,  15,  11,  9,   7,   6,   5,   4,  3,  3,  2,  2,
                            2,   2,   1,   1,   1,   1,   1,   1,   1,  1,  1}},
    {false, {0, 17, 1, 1}, {1299, 162, 148, 134, 122, 106, 96, 82, 70, 61, 52, 44, 39, 33, 30,
                            25,   23,  19,  16,  14,  12,  11, 9,  8,  7,  7,  6,  5,  5,  4,
                            4,    3,   3,   2,   2,   2,   2,  1,  2,  1,  1,  1,  1,  1,  1,
                            1,    1,   1,   1,   1,   1,   1,  1,  1,  1,  1,  0,  0,  1}},
    {false,
     {0, 56, 82, 4},
     {3016, 22, 21, 21, 21, 18, 17, 17, 14, 15, 14, 12, 12, 11, 10, 10, 9, 8, 8, 9, 7, 7, 7, 6, 5,
      6,    6,  5,  5,  5,  5,  4,  4,  4,  4,  4,  3,  4,  3,  3,  3,  3, 2, 3, 2, 2, 3, 2, 2, 3,
      2,    2,  2,  1,  2,  2,  2,  2,  1,  2,  1,  1,  1,  1,  1,  1,  1, 1, 1, 1, 1, 1, 1, 1, 1,
      1,    1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1, 0, 1, 1, 1, 1, 1, 1, 1,
      1,    1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1, 1, 0, 0, 1, 1, 1}},
    {false,
     {0, 34, 6, 1},
     {1313, 59, 56, 54, 54, 52, 50, 50, 49, 43, 43, 44, 40, 39, 35, 37, 33, 31, 29, 30,
      26,   26, 25, 24, 21, 20, 22, 18, 17, 15, 18, 15, 14, 13, 13, 12, 11, 11, 11, 9,
      9,    9,  8,  8,  8,  8,  7,  6,  6,  7,  5,  5,  5,  5,  5,  4,  4,  4,  4,  3,
      3,    3,  3,  3,  3,  3,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
      1,    1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
      1,    1,  1,  1,  1,  1,  1,  1,  1,  1,  0,  1,  1,  1,  0,  1,  1,  0,  0,  1}},
    {false,
     {0, 353, 140, 1},
     {1268, 17, 17, 18, 21, 17, 17, 20, 18, 16, 17, 20, 16, 16, 16, 19, 16, 16, 16, 18, 16,
      15,   17, 17, 14, 15, 17, 14, 13, 14, 17, 14, 13, 13, 15, 13, 12, 14, 12, 11, 11, 14,
      11,   10, 12, 14, 12, 10, 11, 12, 9,  10, 12, 10, 9,  9,  11, 9,  8,  9,  9,  8,  8,
      9,    8,  7,  8,  9,  8,  7,  7,  8,  7,  6,  7,  7,  6,  5,  7,  6,  6,  6,  7,  6,
      6,    5,  6,  5,  4,  6,  5,  5,  5,  6,  5,  4,  4,  5,  4,  4,  4,  5,  4,  4,  4,
      4,    4,  4,  4,  4,  3,  3,  4,  3,  4,  4,  3,  3,  3,  3,  3,  3,  3,  3}},
    {false, {0, 533, 1402, 95}, {1244, 3, 3, 3, 3, 3, 6, 3, 3, 3, 3, 3, 6, 3, 4, 4, 3, 3, 6, 3, 3,
                                 3,    3, 3, 6, 3, 3, 3, 3, 3, 7, 4, 3, 3, 3, 3, 6, 4, 3, 3, 3, 3,
                                 6,    3, 3, 4, 3, 3, 5, 4, 3, 3, 3, 3, 5, 3, 3, 3, 2, 3, 5, 3, 3,
                                 3,    3, 3, 4, 4, 3, 3, 3, 3, 5, 4, 2, 3, 3, 3, 5, 4, 3, 3, 3, 3,
                                 4,    3, 3, 3, 2, 3, 5, 3, 3, 3, 3, 3, 3, 4, 3, 3, 3, 3, 3, 3, 3,
                                 3,    3, 3, 3, 4, 3, 2, 3, 2, 3, 4, 3, 3, 3, 3, 3, 4, 2, 2}},
    {true, {1, 6, 1, 2}, {456, 352, 272, 211, 165, 129, 100, 78, 61, 47, 37, 29, 23, 18, 14,
                          11,  8,   7,   5,   4,   3,   3,   2,  2,  1,  1,  1,  1,  1,  1}},
    {true, {0, 9, 1, 2}, {334, 278, 233, 194, 162, 136, 114, 95, 80, 67, 56, 47, 39, 33,
                          28,  23,  20,  16,  14,  12,  10,  8,  7,  6,  5,  4,  3,  3,
                          2,   2,   2,   1,   1,   1,   1,   1,  1,  1,  1,  1}},
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
