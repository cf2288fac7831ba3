// Version 1 of the format: a stream is a sequence of framed sections, one for each chunk. Streams
// of this version are read, not written.
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
#include <string_view>

#include "tensorpress/result.h"

namespace tensorpress::stream::framed {

inline constexpr std::size_t kFrameBytes = 32;
inline constexpr std::size_t kCheckedFrameBytes = 24;
inline constexpr std::size_t kAlignment = 8;

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

/// The fields before the checksum, which covers them.
std::array<std::byte, kCheckedFrameBytes> fields_of(const Frame& frame);
/// XXH3 of the fields, seeded with the XXH3 of the payload.
std::uint64_t frame_checksum(const Frame& frame, std::uint64_t payload_checksum);
/// The four letters are checked, nothing else.
Result<Frame> parse_frame(std::span<const std::byte, kFrameBytes> bytes);

}  // namespace tensorpress::stream::framed
