// How a chunk stands in a stream of version 2: as a record, each directly behind the one before.
//
//   code                            varint: 1 raw, 2 repeat, n + 3 coded with a payload of n bytes
//   [mark] payload checksum         not of a repeat
//
// The size of a raw payload is that of the chunk's elements. A repeat has the payload of the last
// coded chunk whose payload had at most 32 bytes: mostly a constant. Payloads of 4096 bytes and
// more have a mark before them, by which a search finds them, and 8 bytes of checksum instead of 4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "codecs/chunk_codec.h"
#include "stream/chunks/chunk_feed.h"

namespace tensorpress::stream::compact {

inline constexpr std::uint64_t kRawCode = 1;
inline constexpr std::uint64_t kRepeatCode = 2;
inline constexpr std::uint64_t kFirstCodedCode = 3;

inline constexpr std::string_view kMark = "CHNK";
inline constexpr std::uint64_t kLargeBytes = 4096;
inline constexpr std::size_t kMaxVarintBytes = 10;
inline constexpr std::size_t kMaxRecordHeadBytes = kMaxVarintBytes + kMark.size();

constexpr std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

/// Of so many bytes; as many of the lowest bytes of an XXH3 are stored.
constexpr std::size_t checksum_bytes(std::uint64_t covered_bytes) {
  return covered_bytes >= kLargeBytes ? 8 : 4;
}
constexpr std::uint64_t checksum_mask(std::uint64_t covered_bytes) {
  return covered_bytes >= kLargeBytes ? ~std::uint64_t{0} : 0xFFFF'FFFF;
}
void store_checksum(std::uint64_t checksum, std::uint64_t covered_bytes, std::byte* to);
std::uint64_t load_checksum(std::uint64_t covered_bytes, const std::byte* from);

/// A record that is not a repeat: what stands before its payload, and how large it is.
struct Record {
  std::uint64_t code = 0;
  std::uint64_t payload_bytes = 0;

  static Record raw(std::uint64_t bytes) { return {kRawCode, bytes}; }
  static Record coded(std::uint64_t bytes) { return {bytes + kFirstCodedCode, bytes}; }
  static Record of(const CompressedChunk& chunk) {
    return chunk.raw ? raw(chunk.bytes) : coded(chunk.bytes);
  }

  bool is_raw() const { return code == kRawCode; }
  /// Code and mark.
  std::size_t head_bytes() const {
    return varint_bytes(code) + (payload_bytes >= kLargeBytes ? kMark.size() : 0);
  }
  /// The caller has made sure that payload_bytes is below 2^62.
  std::uint64_t size() const {
    return head_bytes() + payload_bytes + checksum_bytes(payload_bytes);
  }
  void write_head(std::byte* to) const;
  /// Whether these bytes begin as this record does.
  bool has_head(std::span<const std::byte> bytes) const;
  /// The checksum covers number, code and payload.
  ChunkSeal seal(std::uint64_t number) const;
};

/// Around a payload that is in its place in `record`.
void complete_record(const Record& record, std::uint64_t number, std::uint64_t payload_checksum,
                     std::span<std::byte> bytes);

// ---- Repeats -----------------------------------------------------------------------------------

inline constexpr std::size_t kShortBytes = 32;

/// A payload that chunks behind it may repeat.
struct ShortPayload {
  std::array<std::byte, kShortBytes> bytes{};
  std::uint64_t size = 0;

  /// Of a coded chunk, if it is short enough.
  static std::optional<ShortPayload> of(const CompressedChunk& chunk,
                                        std::span<const std::byte> payload);
  std::span<const std::byte> span() const {
    return std::span(bytes).first(static_cast<std::size_t>(size));
  }
  friend bool operator==(const ShortPayload&, const ShortPayload&) = default;
};

/// A chunk without its payload, unless that is short: all that the index and the sizes of a stream
/// depend on. Bytes that processes can send each other.
struct ChunkOutline {
  CompressedChunk chunk;
  ShortPayload payload;
  bool is_short = false;

  static ChunkOutline of(const CompressedChunk& chunk, std::span<const std::byte> payload);
  /// From a whole record that is not a repeat.
  static ChunkOutline of_record(const CompressedChunk& chunk, std::span<const std::byte> record) {
    return of(chunk, record.subspan(Record::of(chunk).head_bytes()));
  }
  std::optional<ShortPayload> short_payload() const {
    return is_short ? std::optional(payload) : std::nullopt;
  }
};

/// Finds repeats among chunks in their order.
class Repeats {
 public:
  /// Whether this chunk repeats what is known; from now on it is known itself.
  bool is_repeat(const std::optional<ShortPayload>& payload) {
    if (!payload) return false;
    if (last_ == payload) return true;
    last_ = payload;
    return false;
  }
  const std::optional<ShortPayload>& last() const { return last_; }

 private:
  std::optional<ShortPayload> last_;
};

}  // namespace tensorpress::stream::compact
