#include "stream/container/compact/record.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace tensorpress::stream::compact {

void store_checksum(std::uint64_t checksum, std::uint64_t covered_bytes, std::byte* to) {
  if (checksum_bytes(covered_bytes) == 8) return store_le(to, checksum);
  store_le(to, static_cast<std::uint32_t>(checksum));
}

std::uint64_t load_checksum(std::uint64_t covered_bytes, const std::byte* from) {
  if (checksum_bytes(covered_bytes) == 8) return load_le<std::uint64_t>(from);
  return load_le<std::uint32_t>(from);
}

void Record::write_head(std::byte* to) const {
  std::uint64_t rest = code;
  for (; rest >= 0x80; rest >>= 7) *to++ = static_cast<std::byte>((rest & 0x7f) | 0x80);
  *to++ = static_cast<std::byte>(rest);
  if (payload_bytes >= kLargeBytes) std::memcpy(to, kMark.data(), kMark.size());
}

bool Record::has_head(std::span<const std::byte> bytes) const {
  std::array<std::byte, kMaxRecordHeadBytes> head;
  write_head(head.data());
  return bytes.size() >= head_bytes() &&
         std::ranges::equal(bytes.first(head_bytes()), std::span(head).first(head_bytes()));
}

ChunkSeal Record::seal(std::uint64_t number) const {
  ChunkSeal seal{.field_bytes = 16, .mask = checksum_mask(payload_bytes)};
  store_le(seal.fields.data(), number);
  store_le(seal.fields.data() + 8, code);
  return seal;
}

void complete_record(const Record& record, std::uint64_t number, std::uint64_t payload_checksum,
                     std::span<std::byte> bytes) {
  record.write_head(bytes.data());
  store_checksum(record.seal(number).found(payload_checksum), record.payload_bytes,
                 bytes.data() + record.head_bytes() + record.payload_bytes);
}

std::optional<ShortPayload> ShortPayload::of(const CompressedChunk& chunk,
                                             std::span<const std::byte> payload) {
  if (chunk.raw || chunk.bytes > kShortBytes) return std::nullopt;
  ShortPayload made;
  made.size = chunk.bytes;
  std::ranges::copy(payload.first(static_cast<std::size_t>(chunk.bytes)), made.bytes.begin());
  return made;
}

ChunkOutline ChunkOutline::of(const CompressedChunk& chunk, std::span<const std::byte> payload) {
  const auto kept = ShortPayload::of(chunk, payload);
  return {.chunk = chunk, .payload = kept.value_or(ShortPayload()), .is_short = kept.has_value()};
}

}  // namespace tensorpress::stream::compact
