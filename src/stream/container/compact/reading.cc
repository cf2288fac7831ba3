#include "stream/container/compact/reading.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "stream/chunks/chunk_flow.h"
#include "stream/container/compact/index.h"
#include "stream/container/compact/record.h"
#include "stream/container/compact/search.h"
#include "stream/container/compact/sections.h"

namespace tensorpress::stream::compact {
namespace {

// What a reader counts itself.
constexpr std::string_view kRawChunks = "raw_chunks";
// For a byte of records: a token has 10 at most, and the payload of a repeat 32.
constexpr std::uint64_t kMostIndexBytes = 42;

Result<void> add_raw_chunks(std::vector<Statistic>& statistics, std::uint64_t count) {
  for (const Statistic& statistic : statistics) {
    if (statistic.name == kRawChunks) return corrupt("the footer states what its index says");
  }
  statistics.push_back({std::string(kRawChunks), static_cast<double>(count)});
  return {};
}

/// From what stands in the stream: a whole record that is not a repeat.
FetchedChunk fetched(const Record& record, std::uint64_t number, std::span<const std::byte> bytes) {
  FetchedChunk chunk{
      .payload = bytes.subspan(record.head_bytes(), static_cast<std::size_t>(record.payload_bytes)),
      .raw = record.is_raw(),
      .seal = record.seal(number)};
  chunk.seal.expected =
      load_checksum(record.payload_bytes, chunk.payload.data() + chunk.payload.size());
  return chunk;
}

class Directory final : public ChunkDirectory {
 public:
  Directory(const ByteSource& source, Index index) : source_(source), index_(std::move(index)) {}

  Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) const override {
    const Index::Place place = index_.place(number);
    const std::uint64_t size = place.repeated != nullptr ? 1 : place.record.size();
    TRY(const auto bytes, bytes_at(source_, place.offset, size, scratch));
    if (place.repeated != nullptr) {
      if (bytes[0] != std::byte{kRepeatCode}) return other_record(number);
      return FetchedChunk{.payload = place.repeated->span()};
    }
    if (!place.record.has_head(bytes)) return other_record(number);
    return fetched(place.record, number, bytes);
  }

 private:
  static Error other_record(std::uint64_t number) {
    return corrupt("chunk ", number,
                   " is corrupt: its record is not the one that the footer lists");
  }

  const ByteSource& source_;
  Index index_;
};

/// Of a stream without a footer.
class FoundDirectory final : public ChunkDirectory {
 public:
  FoundDirectory(const ByteSource& source, FoundChunks found)
      : source_(source), found_(std::move(found)) {}

  Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) const override {
    const FoundChunk& chunk = found_.chunks[static_cast<std::size_t>(number)];
    if (chunk.offset == 0) return not_found(number);
    if (chunk.record.code == kRepeatCode) {
      return FetchedChunk{.payload =
                              found_.repeated[static_cast<std::size_t>(chunk.repeated)].span()};
    }
    TRY(const auto bytes, bytes_at(source_, chunk.offset, chunk.record.size(), scratch));
    return fetched(chunk.record, number, bytes);
  }

 private:
  const ByteSource& source_;
  FoundChunks found_;
};

/// Header, attributes and where the records begin.
struct Opening {
  ChunkDecoder decoder;
  StreamInfo info;
  std::uint64_t records = 0;
};

Result<Opening> read_opening(StreamInput& input, const DecompressOptions* options) {
  SectionReader sections(input);
  TRY(const Header header, sections.read_header());
  TRY(const auto decoder, ChunkDecoder::make(header));
  Opening opening{decoder, info_of(header, decoder.grid(), 2)};
  if (options != nullptr) {
    RETURN_IF_ERROR(check_decompressed_size(opening.info, options->max_bytes));
  }
  RETURN_IF_ERROR(sections.read_up_to(kChunks, &opening.info.attributes));
  opening.records = sections.position();
  return opening;
}

class PipeFeed : public ChunkFeed {
 public:
  PipeFeed(StreamInput& input, const ChunkDecoder& decoder) : input_(input), decoder_(decoder) {}

  Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) override {
    TRY(const std::uint64_t code, input_.read_varint());
    if (code == kRepeatCode) return repeat(number, scratch);
    TRY(const Record record, record_of(decoder_, number, code));
    RETURN_IF_ERROR(read_mark(record, number));
    TRY(const auto bytes, input_.read_bytes(record.payload_bytes, scratch));
    std::array<std::byte, 8> checksum;
    RETURN_IF_ERROR(input_.fill(std::span(checksum).first(checksum_bytes(record.payload_bytes))));
    FetchedChunk chunk{.payload = bytes, .raw = record.is_raw(), .seal = record.seal(number)};
    chunk.seal.expected = load_checksum(record.payload_bytes, checksum.data());
    note(record, chunk);
    return chunk;
  }
  bool survives_errors() const override { return false; }

  std::vector<std::byte> take_index() { return std::move(index_).finish(); }
  /// Whether a payload that may be repeated was damaged: then the index above is not the footer's.
  bool damaged() const { return damaged_; }
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  std::uint64_t raw_chunks() const { return raw_chunks_; }

 private:
  // With the checksum of the chunk that is repeated: if that one is damaged, so are its repeats.
  Result<FetchedChunk> repeat(std::uint64_t number, AlignedBuffer& scratch) {
    if (!last_short_) {
      return corrupt("chunk ", number, " is corrupt: it repeats a chunk, and there is none");
    }
    RETURN_IF_ERROR(decoder_.check_payload_size(number, last_short_->size));
    index_.add_repeat();
    TRY(const auto room, try_reserve(scratch, last_short_->size));
    std::ranges::copy(last_short_->span(), room.begin());
    return FetchedChunk{.payload = room, .seal = last_seal_};
  }

  Result<void> read_mark(const Record& record, std::uint64_t number) {
    if (record.payload_bytes < kLargeBytes) return {};
    std::array<std::byte, kMark.size()> mark;
    RETURN_IF_ERROR(input_.fill(mark));
    if (std::ranges::equal(mark, std::as_bytes(std::span(kMark)))) return {};
    return corrupt("chunk ", number, " is corrupt: the mark before its payload is missing");
  }

  void note(const Record& record, const FetchedChunk& chunk) {
    payload_bytes_ += record.payload_bytes;
    if (record.is_raw()) {
      ++raw_chunks_;
      return index_.add_raw();
    }
    const auto candidate = ShortPayload::of({.bytes = record.payload_bytes}, chunk.payload);
    index_.add_coded(record.payload_bytes, candidate);
    if (!candidate) return;
    last_short_ = candidate;
    last_seal_ = chunk.seal;
    if (chunk.seal.found(checksum_of(chunk.payload)) != chunk.seal.expected) damaged_ = true;
  }

  StreamInput& input_;
  const ChunkDecoder& decoder_;
  IndexWriter index_;
  std::optional<ShortPayload> last_short_;
  ChunkSeal last_seal_;
  bool damaged_ = false;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t raw_chunks_ = 0;
};

struct Footer {
  Index index;
  std::vector<Statistic> statistics;
};

Result<Footer> parse_footer(std::span<const std::byte> payload, const Opening& opening,
                            std::uint64_t offset) {
  ByteReader reader(payload);
  TRY(auto index, Index::parse(reader, opening.decoder, opening.records, offset));
  TRY(auto statistics, parse_statistics(reader));
  return Footer{std::move(index), std::move(statistics)};
}

// Its index must be that of the chunks that came by, or at least end where they did.
Result<std::vector<Statistic>> parse_last_footer(std::span<const std::byte> payload,
                                                 const Opening& opening, PipeFeed& feed,
                                                 std::uint64_t records_end) {
  if (feed.damaged()) {
    TRY(auto footer, parse_footer(payload, opening, records_end));
    if (footer.index.end() == records_end) return std::move(footer.statistics);
    return corrupt("its chunks do not end where they did");
  }
  const std::vector<std::byte> index = feed.take_index();
  if (payload.size() < index.size() || !std::ranges::equal(payload.first(index.size()), index)) {
    return corrupt("it does not list the chunks as they came");
  }
  ByteReader reader(payload.subspan(index.size()));
  return parse_statistics(reader);
}

// The footer behind the chunks, and the end.
Result<std::vector<Statistic>> read_last_footer(StreamInput& input, const Opening& opening,
                                                PipeFeed& feed) {
  const std::uint64_t records_end = input.position();
  SectionReader sections(input);
  RETURN_IF_ERROR(sections.read_up_to(kFoot, nullptr));
  const std::uint64_t offset = sections.position() - 1;
  AlignedBuffer buffer;
  const std::uint64_t cap = (records_end - opening.records) * kMostIndexBytes + kMaxStatisticsBytes;
  TRY(const auto payload, sections.read_section(kFoot, cap, buffer));
  auto statistics = parse_last_footer(payload, opening, feed, records_end);
  if (!statistics.ok()) return in_section("footer", statistics.error());
  TRY(const std::uint64_t stated, sections.read_trailer());
  if (stated != offset) {
    return corrupt("the end of the stream points to byte ", stated,
                   " for the footer, which is at byte ", offset);
  }
  return statistics;
}

// From the end mark back to F, which must reach exactly up to the trailer.
Result<Footer> read_footer(const ByteSource& source, const Opening& opening) {
  const std::uint64_t end = source.size() - kTrailerBytes;
  SourceInput trailer_bytes(source, end, source.size());
  StreamInput trailer_input(trailer_bytes, end);
  TRY(const std::uint64_t offset, SectionReader(trailer_input).read_trailer());
  if (offset < opening.records || offset >= end) {
    return corrupt("the end of the stream points to byte ", offset,
                   " for the footer, where it cannot be");
  }
  SourceInput bytes(source, offset, end);
  StreamInput input(bytes, offset);
  SectionReader sections(input);
  TRY(const char type, sections.read_type());
  if (type != kFoot) {
    return corrupt("the end of the stream points to byte ", offset,
                   " for the footer, and there is none");
  }
  AlignedBuffer buffer;
  const auto payload = sections.read_section(kFoot, end - offset, buffer);
  if (!payload.ok()) return in_section("footer", payload.error());
  if (sections.position() != end) {
    return corrupt("the footer ends at byte ", sections.position(), ", before the end mark");
  }
  auto footer = parse_footer(*payload, opening, offset);
  if (!footer.ok()) return in_section("footer", footer.error());

  SourceInput rest(source, footer->index.end(), offset + 1);
  StreamInput rest_input(rest, footer->index.end());
  SectionReader closing(rest_input);
  RETURN_IF_ERROR(closing.read_up_to(kFoot, nullptr));
  if (closing.position() != offset + 1) {
    return corrupt("section F at byte ", closing.position() - 1, " is out of place");
  }
  return footer;
}

}  // namespace

Result<OpenedStream> open(const ByteSource& source) {
  SourceInput bytes(source, kPrologueBytes, source.size());
  StreamInput input(bytes, kPrologueBytes);
  TRY(Opening opening, read_opening(input, nullptr));
  if (source.size() - opening.records < kTrailerBytes) {
    return truncated("the stream ends at byte ", source.size(), " without an end mark");
  }
  TRY(Footer footer, read_footer(source, opening));
  StreamInfo& info = opening.info;
  info.statistics = std::move(footer.statistics);
  RETURN_IF_ERROR(add_raw_chunks(info.statistics, footer.index.raw_chunks()));
  info.bytes_out = source.size();
  info.payload_bytes = footer.index.payload_bytes();
  return OpenedStream{opening.decoder, std::move(info),
                      std::make_unique<Directory>(source, std::move(footer.index))};
}

Result<OpenedStream> open_without_footer(const ByteSource& source) {
  SourceInput bytes(source, kPrologueBytes, source.size());
  StreamInput input(bytes, kPrologueBytes);
  TRY(Opening opening, read_opening(input, nullptr));
  TRY(FoundChunks found, find_chunks(source, opening.decoder, opening.records));
  opening.info.bytes_out = source.size();
  for (const FoundChunk& chunk : found.chunks) {
    opening.info.payload_bytes += chunk.record.payload_bytes;
  }
  return OpenedStream{opening.decoder, std::move(opening.info),
                      std::make_unique<FoundDirectory>(source, std::move(found))};
}

Result<StreamInfo> read_in_order(StreamInput& input, const MakeSink& make_sink,
                                 const DecompressOptions& options) {
  TRY(Opening opening, read_opening(input, &options));
  StreamInfo& info = opening.info;
  TRY(const auto sink, make_sink(info));
  PipeFeed feed(input, opening.decoder);
  RETURN_IF_ERROR(decode_in_order(opening.decoder, feed, ChunkNumbers::range(0, info.chunk_count),
                                  *sink, options));
  TRY(info.statistics, read_last_footer(input, opening, feed));
  RETURN_IF_ERROR(add_raw_chunks(info.statistics, feed.raw_chunks()));
  info.bytes_out = input.position();
  info.payload_bytes = feed.payload_bytes();
  return std::move(info);
}

}  // namespace tensorpress::stream::compact
