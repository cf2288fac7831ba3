#include "codecs/dense/recurring/context_tables.h"

#include <algorithm>
#include <bit>

#include "codecs/dense/residuals/bits.h"

namespace tensorpress::dense {
namespace {

constexpr std::size_t kSymbols = kernels::kRansSymbols;
constexpr std::uint32_t kZeroNumber = 128;

// Zigzagged integers, so that the likely ones come first.
std::uint32_t code_of(std::uint32_t number) {
  if (number == kEscapeNumber) return 255;
  return number >= kZeroNumber ? 2 * (number - kZeroNumber) : 2 * (kZeroNumber - number) - 1;
}
std::uint32_t number_of(std::uint32_t code) {
  if (code == 255) return kEscapeNumber;
  return code % 2 == 0 ? kZeroNumber + code / 2 : kZeroNumber - (code + 1) / 2;
}

void put_gamma(BitWriter& out, std::uint32_t n) {
  const int below = std::bit_width(n) - 1;
  out.put(0, below);
  out.put(1, 1);
  out.put(n & ((1u << below) - 1), below);
}

Result<std::uint32_t> get_gamma(BitReader& in) {
  int below = 0;
  for (;; ++below) {
    TRY(const auto bit, in.get(1));
    if (bit != 0) break;
    if (below == 15) return corrupt("a table of contexts has a number that is too long");
  }
  TRY(const auto rest, in.get(below));
  return (1u << below) | rest;
}

// All others have frequencies of four bits.
std::uint32_t symbol_of_the_rest(const kernels::RansTable& table) {
  const auto& frequencies = table.frequencies;
  auto found = std::ranges::find_if(frequencies, [](std::uint32_t f) { return shortened(f) != f; });
  if (found == frequencies.end()) found = std::ranges::max_element(frequencies);
  return static_cast<std::uint32_t>(found - frequencies.begin());
}

void put_table(BitWriter& out, const kernels::RansTable& table) {
  const auto& frequencies = table.frequencies;
  const std::uint32_t rest = symbol_of_the_rest(table);
  const auto used = kSymbols - static_cast<std::size_t>(std::ranges::count(frequencies, 0));
  put_gamma(out, static_cast<std::uint32_t>(used));
  put_gamma(out, code_of(rest) + 1);
  std::uint32_t next = 0;
  for (std::uint32_t code = 0; code < kSymbols; ++code) {
    // Two codes have no symbol of their own.
    const std::uint32_t number = code < 248 || code % 2 == 0 || code == 255 ? number_of(code) : 0;
    if (number == rest || number == 0 || frequencies[number] == 0) continue;
    put_gamma(out, code - next + 1);
    next = code + 1;
    const std::uint32_t frequency = frequencies[number];
    const int below = std::bit_width(frequency) - 1;
    const int kept = std::min(below, 3);
    out.put(static_cast<std::uint32_t>(below), 4);
    out.put((frequency >> (below - kept)) & ((1u << kept) - 1), kept);
  }
}

// A code that stands for a symbol: not the odd ones that would be the numbers of escapes.
Result<std::uint32_t> checked_number(std::uint32_t code) {
  if (code > 255 || (code > 247 && code % 2 == 1 && code != 255)) {
    return corrupt("a table of contexts names symbol ", code);
  }
  return number_of(code);
}

Result<kernels::RansTable> get_table(BitReader& in) {
  kernels::RansTable table;
  TRY(const auto used, get_gamma(in));
  TRY(const auto rest_code, get_gamma(in));
  TRY(const auto rest, checked_number(rest_code - 1));
  if (used > kSymbols) return corrupt("a table of contexts has ", used, " symbols");
  std::uint32_t others = 0;
  std::uint32_t next = 0;
  for (std::uint32_t i = 1; i < used; ++i) {
    TRY(const auto distance, get_gamma(in));
    next += distance;
    TRY(const auto number, checked_number(next - 1));
    TRY(const auto below, in.get(4));
    if (below >= kernels::kRansBits)
      return corrupt("a table of contexts has a frequency of 2^", below);
    const int kept = std::min(static_cast<int>(below), 3);
    TRY(const auto upper, in.get(kept));
    const std::uint32_t frequency = ((1u << kept) | upper) << (static_cast<int>(below) - kept);
    table.frequencies[number] = static_cast<std::uint16_t>(frequency);
    others += frequency;
  }
  if (others >= kernels::kRansTotal || table.frequencies[rest] != 0) {
    return corrupt("the frequencies of a table of contexts add up to ", others);
  }
  table.frequencies[rest] = static_cast<std::uint16_t>(kernels::kRansTotal - others);
  return table;
}

int bits_of_table(std::size_t tables) {
  return static_cast<int>(std::bit_width(tables - 1));
}

}  // namespace

void append_tables(const ContextTables& chosen, std::vector<std::byte>& bytes) {
  BitWriter out(bytes);
  put_gamma(out, static_cast<std::uint32_t>(chosen.tables.size() + 1));
  for (const auto& table : chosen.tables) put_table(out, table);
  const auto used = kContexts - static_cast<std::size_t>(std::ranges::count(chosen.ids, 0));
  put_gamma(out, static_cast<std::uint32_t>(used + 1));
  std::uint32_t next = 0;
  for (std::uint32_t c = 0; c < kContexts; ++c) {
    if (chosen.ids[c] == 0) continue;
    put_gamma(out, c - next + 1);
    next = c + 1;
    out.put(chosen.ids[c] - 1u, bits_of_table(chosen.tables.size()));
  }
}

Result<ContextTables> read_tables(ByteReader& reader) {
  BitReader in(reader);
  ContextTables chosen;
  TRY(const auto tables, get_gamma(in));
  if (tables - 1 > kMostTables) return corrupt("a chunk has ", tables - 1, " tables of contexts");
  for (std::uint32_t t = 1; t < tables; ++t) {
    TRY(auto table, get_table(in));
    chosen.tables.push_back(table);
  }
  TRY(const auto used, get_gamma(in));
  if (used > 1 && chosen.tables.empty()) return corrupt("contexts have tables that are not there");
  std::uint32_t next = 0;
  for (std::uint32_t i = 1; i < used; ++i) {
    TRY(const auto distance, get_gamma(in));
    TRY(const auto table, in.get(bits_of_table(chosen.tables.size())));
    next += distance;
    if (next > kContexts || table >= chosen.tables.size()) {
      return corrupt("context ", next, " of ", kContexts, " has table ", table);
    }
    chosen.ids[next - 1] = static_cast<std::uint8_t>(table + 1);
  }
  return chosen;
}

}  // namespace tensorpress::dense
