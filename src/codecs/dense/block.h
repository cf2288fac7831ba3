// One block of the codec `dense`, Lorenzo predictor, as pure scalar functions: which class it
// belongs to and what its values cost and become. The vector kernels do the same for many blocks; a
// simulated processing element can do it for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codecs/dense/lorenzo_model.h"
#include "kernels/lorenzo/lorenzo_row.h"
#include "kernels/rans/rans_stages.h"

namespace tensorpress::dense {

/// The class of a block of 16 or 32 differences: 0 if all are 0, else which table codes it.
inline std::uint8_t block_class(std::span<const std::int32_t> differences,
                                const LorenzoModel& model) {
  const int log2_block = differences.size() == 32 ? 5 : 4;
  const auto features = kernels::lorenzo::block_features(differences.data(), differences.size());
  return model.class_of_cell(kernels::lorenzo::block_cell(features, log2_block));
}

/// Bits that the values of a block of that class take.
inline double block_bits(std::span<const std::int32_t> differences, std::uint8_t block_class,
                         const LorenzoModel& model) {
  double bits = 0;
  for (const std::int32_t value : differences) bits += model.values().bits(block_class, value);
  return bits;
}

/// How one difference is coded: a symbol or an escape, and raw bits after it.
struct CodedDifference {
  int symbol = 0;              // -124 … 127, or -128 … -125 for an escape
  std::uint32_t raw = 0;       // zigzagged, of an escape
  std::uint32_t low_bits = 0;  // as many as the class's table has
};

inline CodedDifference code_difference(std::int32_t value, std::uint8_t block_class,
                                       const LorenzoModel& model) {
  const kernels::RansTables& tables = model.values();
  const int low_bits = tables.low_bits(block_class);
  const std::int32_t high = value >> low_bits;
  const std::uint32_t index = kernels::rans::encode_index(tables, block_class, high);
  const std::uint32_t packed =
      tables.encode_packed()[block_class * std::size_t{kernels::kRansSymbols} + index];
  CodedDifference coded;
  coded.low_bits = static_cast<std::uint32_t>(value) & ((1u << low_bits) - 1);
  coded.symbol = high;
  if (packed >> 31 != 0) {
    coded.symbol = tables.escape_symbol(block_class, high) + kernels::kRansFirstSymbol;
    coded.raw = kernels::rans::zigzag(high);
  }
  return coded;
}

}  // namespace tensorpress::dense
