#include "stream/find_chunks.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/errors.h"

namespace tensorpress::stream {
namespace {

constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 22;
constexpr std::uint64_t kWindow = std::uint64_t{1} << 20;

/// Where the letters of a chunk's frame stand next, or the end of the source.
Result<std::uint64_t> next_letters(const ByteSource& source, std::uint64_t at) {
  std::vector<std::byte> window;
  for (; at < source.size(); at += kWindow) {
    window.resize(static_cast<std::size_t>(std::min(kWindow, source.size() - at)));
    RETURN_IF_ERROR(source.read_at(at, window));
    for (std::size_t i = 0; i + kChunk.size() <= window.size(); i += kAlignment) {
      if (std::memcmp(window.data() + i, kChunk.data(), kChunk.size()) == 0) return at + i;
    }
  }
  return source.size();
}

}  // namespace

Result<std::vector<IndexEntry>> find_chunks(const ByteSource& source, const ChunkDecoder& decoder,
                                            std::uint64_t begin) {
  const std::uint64_t count = decoder.grid().chunk_count();
  if (count > kMostChunks) {
    return too_large("the stream has ", count, " chunks; without its footer up to ", kMostChunks,
                     " are looked for");
  }
  std::vector<IndexEntry> index(static_cast<std::size_t>(count));
  std::uint64_t next = 0;  // they stand in order
  for (std::uint64_t at = begin; next < count;) {
    TRY(at, next_letters(source, at));
    if (source.size() - at < kFrameBytes) break;
    std::array<std::byte, kFrameBytes> bytes;
    RETURN_IF_ERROR(source.read_at(at, bytes));
    const auto frame = parse_frame(bytes);
    const bool fits = frame.ok() && frame->number >= next && frame->number < count &&
                      decoder.check_frame(frame->number, *frame).ok() &&
                      section_bytes(frame->payload_bytes) <= source.size() - at;
    if (!fits) {
      at += kAlignment;
      continue;
    }
    index[static_cast<std::size_t>(frame->number)] = {at, frame->payload_bytes};
    next = frame->number + 1;
    at += section_bytes(frame->payload_bytes);
  }
  return index;
}

}  // namespace tensorpress::stream
