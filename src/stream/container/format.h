// The byte layout of .tpz streams, version 1 (docs/format.md), as pure functions between structs
// and bytes. Parsers take hostile bytes: they check every size before they allocate and never read
// past the span they are given.
//
//   prologue | HEAD | attr and other ancillary sections | CHNK 0 | CHNK 1 | ... | FOOT | trailer
//
// A section is a frame of 32 bytes, the payload, and zeros up to a multiple of 8:
//
//   0      4       8        16              24         32
//   | type | flags | number | payload_bytes | checksum | payload ... | 0 ... |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorpress/codec.h"
#include "tensorpress/result.h"
#include "tensorpress/stream.h"

namespace tensorpress::stream {

inline constexpr std::size_t kPrologueBytes = 16;
inline constexpr std::size_t kFrameBytes = 32;
inline constexpr std::size_t kTrailerBytes = 16;
inline constexpr std::size_t kAlignment = 8;

// Caps on what a reader allocates on a stream's word alone.
inline constexpr std::uint64_t kMaxHeadBytes = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxAttributeBytes = std::uint64_t{1} << 24;
inline constexpr std::uint64_t kMaxStatisticsBytes = std::uint64_t{1} << 20;

inline constexpr std::uint32_t kRawFlag = 1;  // CHNK: the payload is the elements themselves

using SectionType = std::array<char, 4>;
inline constexpr SectionType kHead = {'H', 'E', 'A', 'D'};
inline constexpr SectionType kAttributes = {'a', 't', 't', 'r'};
inline constexpr SectionType kChunk = {'C', 'H', 'N', 'K'};
inline constexpr SectionType kFoot = {'F', 'O', 'O', 'T'};

inline std::string_view name_of(const SectionType& type) {
  return {type.data(), type.size()};
}
/// A reader that does not know the type may skip the section.
inline bool is_ancillary(const SectionType& type) {
  return type[0] >= 'a' && type[0] <= 'z';
}

struct Frame {
  SectionType type{};
  std::uint32_t flags = 0;
  std::uint64_t number = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t checksum = 0;
};

/// How many zeros follow a payload.
constexpr std::size_t padding_after(std::uint64_t payload_bytes) {
  return static_cast<std::size_t>((kAlignment - payload_bytes % kAlignment) % kAlignment);
}
/// Frame, payload and padding together. The caller has made sure that payload_bytes is below 2^63.
constexpr std::uint64_t section_bytes(std::uint64_t payload_bytes) {
  return kFrameBytes + payload_bytes + padding_after(payload_bytes);
}

/// XXH3 of the frame's first 24 bytes, seeded with the XXH3 of the payload: covers every field.
std::uint64_t frame_checksum(const Frame& frame, std::uint64_t payload_checksum);
/// Fills in the checksum and writes the 32 bytes.
void encode_frame(Frame frame, std::uint64_t payload_checksum,
                  std::span<std::byte, kFrameBytes> to);
/// The four letters are checked, nothing else.
Result<Frame> parse_frame(std::span<const std::byte, kFrameBytes> bytes);

Result<void> check_prologue(std::span<const std::byte, kPrologueBytes> bytes);
/// The offset of the FOOT frame.
Result<std::uint64_t> parse_trailer(std::span<const std::byte, kTrailerBytes> bytes);

struct Header {
  Codec codec;
  DType dtype = DType::f32;
  Shape shape;
  Shape chunk_shape;
};
Result<Header> parse_header(std::span<const std::byte> payload);
Result<std::vector<Attribute>> parse_attributes(std::span<const std::byte> payload);

struct IndexEntry {
  std::uint64_t offset = 0;  // of the chunk's frame, from the start of the stream
  std::uint64_t payload_bytes = 0;
  friend bool operator==(const IndexEntry&, const IndexEntry&) = default;
};
struct Footer {
  std::vector<IndexEntry> index;
  std::vector<Statistic> statistics;
};
/// Checks the declared size of a footer for so many chunks before it is read.
Result<void> check_footer_size(std::uint64_t payload_bytes, std::uint64_t chunk_count);
Result<Footer> parse_footer(std::span<const std::byte> payload, std::uint64_t chunk_count);

/// Everything before the first chunk: prologue, HEAD and, if there are attributes, attr.
Result<std::vector<std::byte>> encode_opening(const Header& header,
                                              std::span<const Attribute> attributes);
/// Everything after the last chunk, which ends at `offset`: FOOT and the trailer.
Result<std::vector<std::byte>> encode_closing(const Footer& footer, std::uint64_t offset);

}  // namespace tensorpress::stream
