// The truth: one lane after the other.
#include "kernels/rans/rans_stages.h"

namespace tensorpress::kernels {
namespace {

using namespace rans;

template <bool kPerValue>
bool decode(RansDecoder& decoder, const RansTables& tables, const std::uint8_t* ids,
            std::size_t groups, std::int32_t* values) {
  for (std::size_t group = 0; group < groups; ++group, values += kRansGroup) {
    if (decoder.next > decoder.limit && !decoder.refill()) return false;
    std::uint32_t* x = decoder.lanes.data() + decoder.turn * kRansGroup;
    decoder.turn = (decoder.turn + 1) & (decoder.vectors - 1);
    const std::byte* next = decoder.next;
    std::uint32_t low[kRansGroup];
    std::uint32_t split[kRansGroup];
    std::uint32_t escaped = 0;
    std::uint32_t splits = 0;
    for (std::size_t lane = 0; lane < kRansGroup; ++lane) {
      const std::size_t id = kPerValue ? ids[group * kRansGroup + lane] : ids[group];
      const std::uint32_t entry = tables.decode_entries()[id << kRansBits | (x[lane] & kSlotMask)];
      const std::uint32_t next_x =
          (x[lane] >> kRansBits) * ((entry & 0xFFF) + 1) + (entry >> 12 & 0xFFF);
      split[lane] = tables.low_bit_split()[id];
      splits |= split[lane];
      const std::uint32_t merged = split[lane] & 0xFF;
      low[lane] = next_x & ((1u << merged) - 1);
      x[lane] = renormalize(next_x >> merged, next);
      values[lane] = static_cast<std::int32_t>(entry) >> 24;
      escaped |= (values[lane] < kRansFirstSymbol + kRansEscapes ? 1u : 0u) << lane;
    }
    if (escaped != 0) decode_escapes(x, values, escaped, next);
    if (splits != 0) {
      for (std::size_t lane = 0; lane < kRansGroup; ++lane) {
        values[lane] =
            shift_left(values[lane], split[lane] & 0xFF) | static_cast<std::int32_t>(low[lane]);
        const std::uint32_t rest = split[lane] >> 8;
        if (rest == 0) continue;
        values[lane] = shift_left(values[lane], rest) |
                       static_cast<std::int32_t>(take_bits(x[lane], rest, next));
      }
    }
    decoder.next = next;
  }
  return true;
}

template <bool kPerValue>
void encode(RansEncoder& encoder, const RansTables& tables, const std::uint8_t* ids,
            std::size_t groups, const std::int32_t* values) {
  for (std::size_t group = groups; group-- > 0;) {
    if (encoder.next - encoder.begin < RansEncoder::kSlackBytes) encoder.full = true;
    if (encoder.full) return;
    encoder.turn = (encoder.turn - 1) & (encoder.vectors - 1);
    std::uint32_t* x = encoder.lanes.data() + encoder.turn * kRansGroup;
    const std::int32_t* from = values + group * kRansGroup;
    std::byte* next = encoder.next;
    std::int32_t symbols[kRansGroup];
    std::uint32_t entries[kRansGroup];
    std::uint32_t reciprocals[kRansGroup];
    std::uint32_t escaped = 0;
    for (std::size_t lane = kRansGroup; lane-- > 0;) {
      const std::size_t id = kPerValue ? ids[group * kRansGroup + lane] : ids[group];
      const std::uint32_t rest = tables.low_bit_split()[id] >> 8;
      if (rest != 0) put_bits(x[lane], static_cast<std::uint32_t>(from[lane]), rest, next);
      symbols[lane] = from[lane] >> tables.low_bits(id);
      const std::size_t at = id * kRansSymbols + encode_index(tables, id, symbols[lane]);
      entries[lane] = tables.encode_packed()[at];
      reciprocals[lane] = tables.encode_reciprocals()[at];
      escaped |= (entries[lane] >> 31) << lane;
    }
    if (escaped != 0) {
      const auto table_of = [&](std::size_t lane) -> std::size_t {
        return kPerValue ? ids[group * kRansGroup + lane] : ids[group];
      };
      encode_escapes(x, symbols, escaped, tables, table_of, next);
    }
    for (std::size_t lane = kRansGroup; lane-- > 0;) {
      const std::size_t id = kPerValue ? ids[group * kRansGroup + lane] : ids[group];
      const std::uint32_t split = tables.low_bit_split()[id];
      const std::uint32_t merged = split & 0xFF;
      const std::uint32_t packed = entries[lane];
      const std::uint32_t frequency = (packed & 0xFFF) + 1;
      // Wraps to 2^32 - 1 for the null table, which never needs room.
      const std::uint32_t most = (frequency << (32 - kRansBits - static_cast<int>(merged))) - 1;
      std::uint32_t state = make_room(x[lane], most, next);
      const auto low = static_cast<std::uint32_t>(from[lane]) >> (split >> 8);
      state = state << merged | (low & ((1u << merged) - 1));
      const std::uint64_t product = (std::uint64_t{state} + (packed >> 28 & 1)) * reciprocals[lane];
      const auto quotient = static_cast<std::uint32_t>(product >> (32 + (packed >> 24 & 0xF)));
      x[lane] = state + (packed >> 12 & 0xFFF) + quotient * (kRansTotal - frequency);
    }
    encoder.next = next;
  }
}

}  // namespace

RansKernels rans_reference() {
  return {decode<false>, encode<false>, decode<true>, encode<true>};
}

}  // namespace tensorpress::kernels
