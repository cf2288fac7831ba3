// The rare stages of a group, in scalar code for every instruction set: escapes and the raw low
// bits that did not fit beside the symbol. Also single steps of the coder for the reference.
#pragma once

#include <bit>
#include <cstdint>

#include "base/bytes.h"
#include "kernels/rans/rans.h"

namespace tensorpress::kernels::rans {

inline constexpr std::uint32_t kSlotMask = kRansTotal - 1;

constexpr std::uint32_t zigzag(std::int32_t value) {
  return (static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 31);
}
constexpr std::int32_t unzigzag(std::uint32_t value) {
  return static_cast<std::int32_t>((value >> 1) ^ (0u - (value & 1)));
}
constexpr std::int32_t shift_left(std::int32_t value, std::uint32_t bits) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value) << bits);
}

// Where a symbol, or the escape of one that is outside, stands in its table.
inline std::uint32_t encode_index(const RansTables& tables, std::size_t id, std::int32_t symbol) {
  const std::uint32_t index = static_cast<std::uint32_t>(symbol) + 128u;
  const bool inside = index >= kRansEscapes && index < kRansSymbols;
  return inside ? index : static_cast<std::uint32_t>(tables.escape_symbol(id, symbol));
}

// Takes the next word if the state fell below 2^16.
inline std::uint32_t renormalize(std::uint32_t x, const std::byte*& next) {
  const std::uint32_t word = load_le<std::uint16_t>(next);
  const bool low = x < kRansLow;
  next += low ? 2 : 0;
  return low ? x << 16 | word : x;
}

// The inverse, before `bits` raw bits or a symbol are put in: writes a word if x > most.
inline std::uint32_t make_room(std::uint32_t x, std::uint32_t most, std::byte*& next) {
  const bool emit = x > most;
  store_le<std::uint16_t>(next - 2, static_cast<std::uint16_t>(x));
  next -= emit ? 2 : 0;
  return emit ? x >> 16 : x;
}

inline std::uint32_t take_bits(std::uint32_t& x, std::uint32_t bits, const std::byte*& next) {
  const std::uint32_t value = x & ((1u << bits) - 1);
  x = renormalize(x >> bits, next);
  return value;
}
inline void put_bits(std::uint32_t& x, std::uint32_t value, std::uint32_t bits, std::byte*& next) {
  x = make_room(x, 0xFFFFFFFFu >> bits, next) << bits | (value & ((1u << bits) - 1));
}

// Stages 2 and 3: symbols[lane] of the lanes in `escaped` are escapes and become values.
inline void decode_escapes(std::uint32_t* x, std::int32_t* symbols, std::uint32_t escaped,
                           const std::byte*& next) {
  std::uint32_t long_lanes = 0;
  for (std::uint32_t left = escaped; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    const int escape = symbols[lane] - kRansFirstSymbol;
    const bool is_long = escape == kRansEscapes - 1;
    const int bits = is_long ? 16 : kRansEscapeBits[static_cast<std::size_t>(escape)];
    const std::uint32_t raw = take_bits(x[lane], static_cast<std::uint32_t>(bits), next);
    symbols[lane] = is_long ? static_cast<std::int32_t>(raw) : unzigzag(raw);
    long_lanes |= (is_long ? 1u : 0u) << lane;
  }
  for (; long_lanes != 0; long_lanes &= long_lanes - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(long_lanes));
    const auto low = static_cast<std::uint32_t>(symbols[lane]);
    symbols[lane] = unzigzag(low | take_bits(x[lane], 16, next) << 16);
  }
}

// The same backwards: lanes in `escaped` code symbols[lane] raw, by the escape of their table.
template <class TableOf>
void encode_escapes(std::uint32_t* x, const std::int32_t* symbols, std::uint32_t escaped,
                    const RansTables& tables, const TableOf& table_of, std::byte*& next) {
  const auto last = [](std::uint32_t lanes) {
    return static_cast<std::size_t>(31 - std::countl_zero(lanes));
  };
  int escapes[kRansGroup];
  std::uint32_t long_lanes = 0;
  for (std::uint32_t left = escaped; left != 0; left &= left - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(left));
    escapes[lane] = tables.escape_symbol(table_of(lane), symbols[lane]);
    long_lanes |= (escapes[lane] == kRansEscapes - 1 ? 1u : 0u) << lane;
  }
  for (std::uint32_t left = long_lanes; left != 0; left ^= 1u << last(left)) {
    put_bits(x[last(left)], zigzag(symbols[last(left)]) >> 16, 16, next);
  }
  for (std::uint32_t left = escaped; left != 0; left ^= 1u << last(left)) {
    const std::size_t lane = last(left);
    const bool is_long = escapes[lane] == kRansEscapes - 1;
    const int bits = is_long ? 16 : kRansEscapeBits[static_cast<std::size_t>(escapes[lane])];
    put_bits(x[lane], zigzag(symbols[lane]), static_cast<std::uint32_t>(bits), next);
  }
}

}  // namespace tensorpress::kernels::rans
