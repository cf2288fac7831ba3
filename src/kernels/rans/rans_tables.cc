// Builds what the coding loops look up, and holds what encoder and decoder keep between calls.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "kernels/rans/rans_stages.h"

namespace tensorpress::kernels {
namespace {

constexpr std::uint32_t kEscapeFlag = 1u << 31;

// Division by a constant f < 2^12 of numbers below f << 20 with a 32-bit multiplier (Granlund and
// Montgomery): with s = floor(log2 f), either the multiplier rounded up is exact, or the one
// rounded down applied to x + 1: their errors e and f - e must stay below 2^(32+s) / (f << 20), and
// the smaller of them, at most f/2, always does.
struct Division {
  std::uint32_t packed;  // all but where the symbol starts
  std::uint32_t reciprocal;
};
Division division_by(std::uint32_t frequency) {
  const auto log2 = static_cast<std::uint32_t>(std::bit_width(frequency) - 1);
  if (std::has_single_bit(frequency) && frequency > 1) {
    return {(frequency - 1) | (log2 - 1) << 24, 1u << 31};
  }
  const std::uint64_t power = std::uint64_t{1} << (32 + log2);
  const std::uint64_t down = power / frequency;
  const std::uint64_t error_down = power - down * frequency;
  const std::uint64_t error_up = frequency - error_down;
  if (error_down != 0 && error_up < error_down) {
    return {(frequency - 1) | log2 << 24, static_cast<std::uint32_t>(down + 1)};
  }
  // frequency 1 comes here: 2^32 does not fit, (x + 1) * (2^32 - 1) >> 32 is x.
  const std::uint64_t multiplier = frequency == 1 ? 0xFFFFFFFFu : down;
  return {(frequency - 1) | log2 << 24 | 1u << 28, static_cast<std::uint32_t>(multiplier)};
}

// Base-2 logarithm of a small integer, the same on every machine: costs decide what is written.
double exact_log2(std::uint32_t value) {
  const int whole = static_cast<int>(std::bit_width(value)) - 1;
  double rest = static_cast<double>(value) / static_cast<double>(1u << whole);
  double result = whole;
  for (double bit = 0.5; bit > 1e-7; bit /= 2) {
    rest *= rest;
    if (rest < 2) continue;
    rest /= 2;
    result += bit;
  }
  return result;
}

}  // namespace

RansTables::RansTables(std::span<const RansTable> tables_from_1) {
  RansTable null;
  null.frequencies[0 - kRansFirstSymbol] = kRansTotal;
  const std::size_t count = tables_from_1.size() + 1;
  decode_.resize(count * kRansTotal);
  packed_.resize(count * kRansSymbols);
  reciprocals_.resize(count * kRansSymbols);
  escapes_.resize(count * kRansEscapes);
  for (std::size_t id = 0; id < count; ++id) {
    const RansTable& table = id == 0 ? null : tables_from_1[id - 1];
    low_bits_.push_back(table.low_bits);
    std::uint32_t same = 0;
    while (same < id && (same == 0 || tables_from_1[same - 1].frequencies != table.frequencies)) {
      ++same;
    }
    same_.push_back(same);
    if (table.low_bits > 0) {
      first_with_low_bits_ = std::min(first_with_low_bits_, static_cast<std::uint32_t>(id));
    }
    const auto merged = static_cast<std::uint32_t>(std::min(table.low_bits, kRansMergedBits));
    split_.push_back(merged | (static_cast<std::uint32_t>(table.low_bits) - merged) << 8);
    std::uint32_t start = 0;
    std::uint32_t* packed = packed_.data() + id * kRansSymbols;
    std::uint32_t* reciprocal = reciprocals_.data() + id * kRansSymbols;
    for (std::uint32_t symbol = 0; symbol < kRansSymbols; ++symbol) {
      const std::uint32_t frequency = table.frequencies[symbol];
      if (frequency == 0) continue;
      const std::uint32_t value = (symbol - 128u) & 0xFF;
      for (std::uint32_t slot = 0; slot < frequency; ++slot) {
        decode_[id * kRansTotal + start + slot] = (frequency - 1) | slot << 12 | value << 24;
      }
      const Division division = division_by(frequency);
      packed[symbol] = division.packed | start << 12;
      reciprocal[symbol] = division.reciprocal;
      start += frequency;
    }
    // A value without a symbol is coded as its escape.
    std::uint8_t longest = 0;
    for (int escape = kRansEscapes - 1; escape >= 0; --escape) {
      const auto at = static_cast<std::size_t>(escape);
      if (table.frequencies[at] != 0) longest = static_cast<std::uint8_t>(escape);
      escapes_[id * kRansEscapes + at] = longest;
      packed[at] |= kEscapeFlag;
    }
    for (int symbol = kRansEscapes; symbol < kRansSymbols; ++symbol) {
      const auto at = static_cast<std::size_t>(symbol);
      if (table.frequencies[at] != 0) continue;
      const auto escape = static_cast<std::size_t>(escape_symbol(id, symbol + kRansFirstSymbol));
      packed[at] = packed[escape];
      reciprocal[at] = reciprocal[escape];
    }
  }
}

double RansTables::bits(std::size_t id, std::int32_t value) const {
  const std::int32_t high = value >> low_bits_[id];
  const std::uint32_t packed = packed_[id * kRansSymbols + rans::encode_index(*this, id, high)];
  const std::uint32_t frequency = (packed & 0xFFF) + 1;
  const bool raw = (packed & kEscapeFlag) != 0;
  const auto escape = static_cast<std::size_t>(escape_symbol(id, high));
  return kRansBits - exact_log2(frequency) + low_bits_[id] + (raw ? kRansEscapeBits[escape] : 0);
}

bool RansDecoder::start(std::span<const std::byte> bytes, std::size_t use_vectors) {
  vectors = use_vectors;
  turn = 0;
  in_tail = false;
  const std::size_t count = kRansGroup * vectors;
  if (bytes.size() < 4 * count || bytes.size() % 2 != 0) return false;
  for (std::size_t lane = 0; lane < count; ++lane) {
    lanes[lane] = load_le<std::uint32_t>(bytes.data() + 4 * lane);
    if (lanes[lane] < kRansLow) return false;
  }
  next = bytes.data() + 4 * count;
  end = bytes.data() + bytes.size();
  // Nowhere yet: the first group asks for more.
  limit = end - next >= static_cast<std::ptrdiff_t>(2 * kSlackWords)
              ? end - static_cast<std::ptrdiff_t>(2 * kSlackWords)
              : next - 1;
  return true;
}

bool RansDecoder::refill() {
  if (in_tail) return false;
  // The last words go where reading past them is harmless; more than one group beyond the last
  // word is never read, because `limit` is looked at before each group.
  const auto left = static_cast<std::size_t>(end - next);
  tail.fill(std::byte{0});
  std::memcpy(tail.data(), next, left);
  next = tail.data();
  end = next + left;
  limit = end;
  in_tail = true;
  return true;
}

bool RansDecoder::finished() const {
  if (next != end) return false;
  for (std::size_t lane = 0; lane < kRansGroup * vectors; ++lane) {
    if (lanes[lane] != kRansLow) return false;
  }
  return true;
}

void RansEncoder::start(std::span<std::byte> buffer, std::size_t use_vectors, std::size_t groups) {
  vectors = use_vectors;
  turn = groups % vectors;
  lanes.fill(kRansLow);
  begin = buffer.data();
  end = begin + buffer.size();
  next = end;
  full = false;
}

std::optional<std::span<const std::byte>> RansEncoder::finish() {
  const std::size_t bytes = 4 * kRansGroup * vectors;
  if (full || next - begin < static_cast<std::ptrdiff_t>(bytes)) return std::nullopt;
  next -= bytes;
  for (std::size_t lane = 0; lane < kRansGroup * vectors; ++lane) {
    store_le<std::uint32_t>(next + 4 * lane, lanes[lane]);
  }
  return std::span<const std::byte>(next, end);
}

}  // namespace tensorpress::kernels
