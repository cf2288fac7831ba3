// The distributions of a chunk's contexts. Contexts that look alike share a table; the chunk
// carries the tables and which context has which.
//
// In bits, lowest first; gamma(n), n >= 1, is the bit length of n less one as that many zeros, a
// one, and the bits below the highest:
//   gamma        number of tables + 1
//   each table:  gamma  symbols
//                gamma  code + 1 of the symbol that has the rest, which is missing to 4096
//                the others, ascending: gamma of the distance from the code before (of the first:
//                from -1), 4 bits b, the b bits below the highest of its frequency, but only the
//                upper 3 of them: the rest are 0
//   gamma        number of contexts with a table + 1
//   each:        gamma  distance from the one before (of the first: from -1)
//                bits   its table, as many as number of tables - 1 has
// Contexts without a table have the null table. A symbol's code is its integer zigzagged; 255 is
// the escape of 13 bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "codecs/dense/recurring/contexts.h"
#include "kernels/rans/rans.h"

namespace tensorpress::dense {

inline constexpr std::size_t kMostTables = 64;
/// What a difference without a symbol of its own is counted as.
inline constexpr std::size_t kEscapeNumber = 2;

/// [context][integer + 128], and how often escapes were needed.
struct ContextHistogram {
  std::vector<std::uint32_t> counts = std::vector<std::uint32_t>(kContexts * kernels::kRansSymbols);

  std::array<std::uint8_t, kContexts> seen{};

  static std::size_t number_of(std::int32_t difference) {
    const auto number = static_cast<std::uint32_t>(difference - kernels::kRansFirstSymbol);
    return number >= kernels::kRansEscapes && number < kernels::kRansSymbols ? number
                                                                             : kEscapeNumber;
  }
  void clear() {
    for (std::size_t c = 0; c < kContexts; ++c) {
      if (seen[c] == 0) continue;
      std::fill_n(counts.begin() + static_cast<std::ptrdiff_t>(c * kernels::kRansSymbols),
                  kernels::kRansSymbols, 0u);
    }
    seen.fill(0);
  }
  void add(std::size_t context, std::int32_t difference) {
    seen[context] = 1;
    ++counts[context * kernels::kRansSymbols + number_of(difference)];
  }
};

/// A frequency as tables store it, all but one: its four highest bits, rounded.
inline std::uint32_t shortened(std::uint32_t frequency) {
  const int drop = static_cast<int>(std::bit_width(frequency)) - 4;
  if (drop <= 0) return frequency;
  return (frequency + (1u << (drop - 1))) >> drop << drop;
}

struct ContextTables {
  std::array<std::uint8_t, kContexts> ids{};  // 0: the null table
  std::vector<kernels::RansTable> tables;     // from id 1 on
};

ContextTables choose_tables(const ContextHistogram& histogram);
/// What differences and tables would take, about, if each count stands for `weight` values.
double estimate_bits(const ContextHistogram& histogram, std::uint32_t weight);

void append_tables(const ContextTables& chosen, std::vector<std::byte>& bytes);
Result<ContextTables> read_tables(ByteReader& reader);

}  // namespace tensorpress::dense
