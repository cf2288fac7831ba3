// Interleaved static rANS over arrays of small signed integers: the entropy coder that both
// predictors of the codec `dense` share. Every value is coded with one of a set of fixed tables,
// named by a table id per value or per group of 16 values; ids are not coded here.
//
// States are 32 bits in [2^16, 2^32), words have 16 bits, value i of the sequence belongs to lane
// i mod (16 V) with V = 1, 2 or 4. Values come in groups of 16; the words of a group lie in this
// order, and within each stage in the order of the lanes:
//   1. the symbol, with the first of the table's raw low bits (as many as fit one renormalization);
//   2. of values that had no symbol of their own: 6, 9, 13 or 16 raw bits of the zigzagged value;
//   3. of those whose escape has 32 raw bits: the upper 16;
//   4. the rest of the raw low bits.
// The encoder starts every lane at 2^16 and runs from the last group to the first, so a decoder has
// to end with every lane at 2^16 and no word left. Bytes: 16 V states (u32), then the words (u16).
//
// On a Zen 3 core with AVX2: see docs/adr/0005.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/cpu.h"

namespace tensorpress::kernels {

inline constexpr int kRansBits = 12;  // a table's frequencies add up to 2^12
inline constexpr std::uint32_t kRansTotal = 1u << kRansBits;
inline constexpr std::uint32_t kRansLow = 1u << 16;  // states are at least this
inline constexpr std::size_t kRansGroup = 16;
inline constexpr std::size_t kRansMaxVectors = 4;
/// Raw low bits that share the symbol's renormalization, and the most a table may have.
inline constexpr int kRansMergedBits = 16 - kRansBits;
inline constexpr int kRansMaxLowBits = kRansMergedBits + 16;
/// A group writes at most this many words: symbol, escape, second half of the escape, low bits.
inline constexpr std::size_t kRansGroupWords = 4 * kRansGroup;

/// Symbols are values -124 … 127 and, below them, four escapes.
inline constexpr int kRansSymbols = 256;
inline constexpr int kRansFirstSymbol = -128;
inline constexpr int kRansEscapes = 4;
inline constexpr std::array<int, kRansEscapes> kRansEscapeBits = {6, 9, 13, 32};
/// The shortest escape that holds `value`.
constexpr int rans_escape_of(std::int32_t value) {
  const auto zigzag =
      (static_cast<std::uint32_t>(value) << 1) ^ static_cast<std::uint32_t>(value >> 31);
  return zigzag < 1u << 6 ? 0 : zigzag < 1u << 9 ? 1 : zigzag < 1u << 13 ? 2 : 3;
}

/// One distribution. frequencies[s + 128] of symbol s, escapes at 0 … 3; the sum is kRansTotal. A
/// value with frequency 0 takes the shortest escape that holds it and has a frequency; the longest
/// escape must have one unless the caller never codes a value without one.
struct RansTable {
  std::array<std::uint16_t, kRansSymbols> frequencies{};
  int low_bits = 0;  // of the value, coded as they are; the symbol is value >> low_bits
};

/// A set of tables, ready for use. Table 0 is always the null table: it codes zeros in no bits.
/// Immutable; build it once from literals and share it.
class RansTables {
 public:
  explicit RansTables(std::span<const RansTable> tables_from_1);

  std::size_t count() const { return low_bits_.size(); }
  int low_bits(std::size_t id) const { return low_bits_[id]; }
  /// Bits that `value` takes in table `id`, raw bits included. The same number on every machine.
  double bits(std::size_t id, std::int32_t value) const;

  /// [id][x mod 2^12]: (frequency - 1) | (slot - start) << 12 | symbol << 24.
  const std::uint32_t* decode_entries() const { return decode_.data(); }
  /// [id][symbol + 128]: (frequency - 1) | start << 12 | shift << 24 | increment << 28 |
  /// is_escape << 31, and the reciprocal of an exact division: for x < frequency << (32 - 12),
  /// x / frequency = ((x + increment) * reciprocal) >> (32 + shift).
  const std::uint32_t* encode_packed() const { return packed_.data(); }
  const std::uint32_t* encode_reciprocals() const { return reciprocals_.data(); }
  /// [id]: merged low bits | further low bits << 8.
  const std::uint32_t* low_bit_split() const { return split_.data(); }
  /// [id]: the first table with the same frequencies, so that a shape at many scales is cached
  /// once.
  const std::uint32_t* first_same() const { return same_.data(); }
  /// Tables before this one have no raw low bits; groups of those alone are coded faster.
  std::uint32_t first_with_low_bits() const { return first_with_low_bits_; }
  /// The escape that a value without a symbol of its own becomes.
  int escape_symbol(std::size_t id, std::int32_t value) const {
    return escapes_[id * kRansEscapes + static_cast<std::size_t>(rans_escape_of(value))];
  }

 private:
  std::vector<std::uint32_t> decode_;
  std::vector<std::uint32_t> packed_;
  std::vector<std::uint32_t> reciprocals_;
  std::vector<std::uint32_t> split_;
  std::vector<std::uint32_t> same_;
  std::vector<int> low_bits_;
  std::uint32_t first_with_low_bits_ = 256;
  std::vector<std::uint8_t> escapes_;
};

/// The state of a decoder between calls. Reads only what lies in its bytes. Points into itself, so
/// it stays where it is.
struct RansDecoder {
  RansDecoder() = default;
  ~RansDecoder() = default;
  RansDecoder(const RansDecoder&) = delete;
  RansDecoder& operator=(const RansDecoder&) = delete;
  RansDecoder(RansDecoder&&) = delete;
  RansDecoder& operator=(RansDecoder&&) = delete;

  /// `bytes` are 16 V states and the words. False if they are too short or no states.
  [[nodiscard]] bool start(std::span<const std::byte> bytes, std::size_t vectors);
  /// True if every lane has come back to where the encoder started and all words were used.
  bool finished() const;

  // For the kernels. Before each group: if (next > limit && !refill()) the bytes are corrupt.
  bool refill();
  alignas(64) std::array<std::uint32_t, kRansGroup * kRansMaxVectors> lanes;
  std::size_t vectors = 1;
  std::size_t turn = 0;  // which vector's turn it is
  const std::byte* next = nullptr;
  const std::byte* limit = nullptr;

  static constexpr std::size_t kSlackWords = kRansGroupWords + 16;
  const std::byte* end = nullptr;
  bool in_tail = false;
  std::array<std::byte, 2 * (2 * kSlackWords + 16)>
      tail;  // a copy of the last words, with room to read past them
};

/// The state of an encoder between calls; writes from the end of its buffer to the front.
struct RansEncoder {
  /// `groups` is how many groups all calls together will code.
  void start(std::span<std::byte> buffer, std::size_t vectors, std::size_t groups);
  /// What was written (in the last bytes of the buffer), or nothing when it did not fit.
  std::optional<std::span<const std::byte>> finish();

  // For the kernels. Before each group: stop if next - begin is less than kSlackBytes.
  static constexpr std::ptrdiff_t kSlackBytes = 2 * (kRansGroupWords + 16);
  alignas(64) std::array<std::uint32_t, kRansGroup * kRansMaxVectors> lanes;
  std::size_t vectors = 1;
  std::size_t turn = 0;  // the vector after the one whose turn it is
  std::byte* begin = nullptr;
  std::byte* next = nullptr;
  std::byte* end = nullptr;
  bool full = false;
};

struct RansKernels {
  /// Decodes the next `groups` groups; false when the bytes end too early. ids must be valid.
  using Decode = bool (*)(RansDecoder& decoder, const RansTables& tables, const std::uint8_t* ids,
                          std::size_t groups, std::int32_t* values);
  /// Encodes `groups` groups, the last one first; the caller comes with the last part of the
  /// sequence first. When the buffer is full, the encoder says so at the end.
  using Encode = void (*)(RansEncoder& encoder, const RansTables& tables, const std::uint8_t* ids,
                          std::size_t groups, const std::int32_t* values);
  // One id per group.
  Decode decode_groups;
  Encode encode_groups;
  // One id per value, 16 a group.
  Decode decode_values;
  Encode encode_values;
};

RansKernels rans_kernels(Isa isa);
RansKernels rans_reference();

}  // namespace tensorpress::kernels
