// Version 2 of the format, which is written: a stream without padding and with few bytes beside the
// chunks' payloads.
//
//   prologue | H header | a attributes, other ancillary sections | C records of chunks ... |
//   ancillary sections | F footer | trailer
//
// A section is a letter, the payload's size as a varint, the payload, and a checksum. C has no
// size: its records end with the last chunk of the grid.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/container/format.h"

namespace tensorpress::stream::compact {

inline constexpr char kHead = 'H';
inline constexpr char kAttributes = 'a';
inline constexpr char kChunks = 'C';
inline constexpr char kFoot = 'F';

/// The offset of F, and the end mark.
inline constexpr std::size_t kTrailerBytes = 12;

/// The XXH3 of letter and size, seeded with that of the payload; not cut to its stored bytes.
std::uint64_t section_checksum(char type, std::uint64_t payload_bytes,
                               std::uint64_t payload_checksum);

Result<Header> parse_header(std::span<const std::byte> payload);
Result<std::vector<Attribute>> parse_attributes(std::span<const std::byte> payload);
/// Up to the end of the footer, whose index has been read.
Result<std::vector<Statistic>> parse_statistics(ByteReader& reader);
/// The offset of F.
Result<std::uint64_t> parse_trailer(std::span<const std::byte, kTrailerBytes> bytes);

/// Everything before the first chunk.
Result<std::vector<std::byte>> encode_opening(const Header& header,
                                              std::span<const Attribute> attributes);
/// Everything after the last chunk, which ends at `offset`.
Result<std::vector<std::byte>> encode_closing(std::span<const std::byte> index,
                                              std::span<const Statistic> statistics,
                                              std::uint64_t offset);

}  // namespace tensorpress::stream::compact
