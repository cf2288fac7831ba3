#include "stream/container/framed/search.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/errors.h"
#include "stream/container/framed/reading.h"

namespace tensorpress::stream::framed {
namespace {

constexpr std::uint64_t kWindow = std::uint64_t{1} << 20;

/// Looks for the letters of a chunk's frame. What was read is kept for the next search, so that
/// every byte is read once, however many letters there are.
class LetterSearch {
 public:
  explicit LetterSearch(const ByteSource& source) : source_(source) {}

  /// Where they stand next, at `at` or behind it, or the end of the source. `at` never goes back.
  Result<std::uint64_t> next(std::uint64_t at) {
    for (; at < source_.size(); at += kAlignment) {
      if (at >= begin_ + window_.size()) RETURN_IF_ERROR(read(at));
      const std::size_t i = static_cast<std::size_t>(at - begin_);
      if (window_.size() - i < kChunk.size()) break;  // only at the source's end
      if (std::memcmp(window_.data() + i, kChunk.data(), kChunk.size()) == 0) return at;
    }
    return source_.size();
  }

 private:
  Result<void> read(std::uint64_t at) {
    begin_ = at;
    window_.resize(static_cast<std::size_t>(std::min(kWindow, source_.size() - at)));
    return source_.read_at(at, window_);
  }

  const ByteSource& source_;
  std::uint64_t begin_ = 0;
  std::vector<std::byte> window_;
};

}  // namespace

Result<std::vector<IndexEntry>> find_chunks(const ByteSource& source, const ChunkDecoder& decoder,
                                            std::uint64_t begin) {
  const std::uint64_t count = decoder.grid().chunk_count();
  RETURN_IF_ERROR(check_searchable(count));
  std::vector<IndexEntry> index(static_cast<std::size_t>(count));
  LetterSearch letters(source);
  std::uint64_t next = 0;  // they stand in order
  for (std::uint64_t at = begin; next < count;) {
    TRY(at, letters.next(at));
    if (source.size() - at < kFrameBytes) break;
    std::array<std::byte, kFrameBytes> bytes;
    RETURN_IF_ERROR(source.read_at(at, bytes));
    const auto frame = parse_frame(bytes);
    const bool fits = frame.ok() && frame->number >= next && frame->number < count &&
                      check_frame(decoder, frame->number, *frame).ok() &&
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

}  // namespace tensorpress::stream::framed
