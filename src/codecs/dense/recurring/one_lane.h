// rANS of kernels/rans with a single state: for symbols whose table is known only after the one
// before was decoded. Bytes: the state (u32), then words (u16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "kernels/rans/rans_stages.h"

namespace tensorpress::dense {

class OneLaneEncoder {
 public:
  /// Writes from the end of `buffer` to its front.
  explicit OneLaneEncoder(std::span<std::byte> buffer)
      : begin_(buffer.data()), end_(begin_ + buffer.size()), next_(end_) {}

  /// A value and, where its table has no symbol for it, the raw bits of its escape. The last value
  /// comes first. False when the buffer is full.
  bool put(const kernels::RansTables& tables, std::size_t id, std::int32_t value) {
    using namespace kernels;
    if (next_ - begin_ < kRoom) return false;
    const std::size_t at = id * kRansSymbols + rans::encode_index(tables, id, value);
    const std::uint32_t packed = tables.encode_packed()[at];
    if (packed >> 31 != 0) {
      const auto escape = static_cast<std::size_t>(tables.escape_symbol(id, value));
      rans::put_bits(state_, rans::zigzag(value),
                     static_cast<std::uint32_t>(kRansEscapeBits[escape]), next_);
    }
    const std::uint32_t frequency = (packed & 0xFFF) + 1;
    const std::uint32_t state = rans::make_room(state_, (frequency << (32 - kRansBits)) - 1, next_);
    const std::uint64_t product =
        (std::uint64_t{state} + (packed >> 28 & 1)) * tables.encode_reciprocals()[at];
    const auto quotient = static_cast<std::uint32_t>(product >> (32 + (packed >> 24 & 0xF)));
    state_ = state + (packed >> 12 & 0xFFF) + quotient * (kRansTotal - frequency);
    return true;
  }
  std::optional<std::span<const std::byte>> finish() {
    if (next_ - begin_ < kRoom) return std::nullopt;
    next_ -= sizeof state_;
    store_le(next_, state_);
    return std::span<const std::byte>(next_, end_);
  }

 private:
  static constexpr std::ptrdiff_t kRoom = 8;
  std::uint32_t state_ = kernels::kRansLow;
  std::byte* begin_;
  std::byte* end_;
  std::byte* next_;
};

/// A copy of its own is read by the callers' loops and stored back.
struct OneLaneDecoder {
  std::uint32_t state = kernels::kRansLow;
  const std::byte* next = nullptr;

  /// Reads up to 4 bytes; the caller sees to it that they are there.
  std::int32_t get(const std::uint32_t* entries, std::size_t id) {
    using namespace kernels;
    const std::uint32_t entry = entries[id << kRansBits | (state & rans::kSlotMask)];
    state = rans::renormalize((state >> kRansBits) * ((entry & 0xFFF) + 1) + (entry >> 12 & 0xFFF),
                              next);
    const std::int32_t value = static_cast<std::int32_t>(entry) >> 24;
    if (value >= kRansFirstSymbol + kRansEscapes) return value;
    const auto escape = static_cast<std::size_t>(value - kRansFirstSymbol);
    const int bits = escape == kRansEscapes - 1 ? 16 : kRansEscapeBits[escape];
    return rans::unzigzag(rans::take_bits(state, static_cast<std::uint32_t>(bits), next));
  }
};

}  // namespace tensorpress::dense
