// What the sections of version 1 say: HEAD, attr, FOOT, and the trailer behind them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/container/format.h"

namespace tensorpress::stream::framed {

inline constexpr std::size_t kTrailerBytes = 16;

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

/// The offset of the FOOT frame.
Result<std::uint64_t> parse_trailer(std::span<const std::byte, kTrailerBytes> bytes);

}  // namespace tensorpress::stream::framed
