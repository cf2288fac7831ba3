#include "stream/container/framed/reading.h"

#include <algorithm>

#include "base/errors.h"
#include "stream/chunks/chunk_flow.h"
#include "stream/container/framed/contents.h"
#include "stream/container/framed/search.h"
#include "stream/container/framed/sections.h"

namespace tensorpress::stream::framed {
namespace {

FetchedChunk fetched(const Frame& frame, std::span<const std::byte> payload) {
  return {.payload = payload,
          .raw = (frame.flags & kRawFlag) != 0,
          .seal = {.fields = fields_of(frame),
                   .field_bytes = kCheckedFrameBytes,
                   .mask = ~std::uint64_t{0},
                   .expected = frame.checksum}};
}

class Directory final : public ChunkDirectory {
 public:
  Directory(const ByteSource& source, const ChunkDecoder& decoder, std::vector<IndexEntry> index)
      : source_(source), decoder_(decoder), index_(std::move(index)) {}

  Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) const override {
    const IndexEntry& entry = index_[static_cast<std::size_t>(number)];
    if (entry.offset == 0) return not_found(number);
    TRY(const auto section,
        bytes_at(source_, entry.offset, section_bytes(entry.payload_bytes), scratch));
    const auto frame = parse_frame(section.first<kFrameBytes>());
    if (!frame.ok()) return corrupt("chunk ", number, " is corrupt: ", frame.error().message);
    RETURN_IF_ERROR(check_frame(decoder_, number, *frame));
    if (frame->payload_bytes != entry.payload_bytes) {
      return corrupt("chunk ", number, " is corrupt: its frame says ", frame->payload_bytes,
                     " bytes, the footer ", entry.payload_bytes);
    }
    const auto padding = section.last(padding_after(entry.payload_bytes));
    if (std::ranges::any_of(padding, [](std::byte byte) { return byte != std::byte{0}; })) {
      return corrupt("chunk ", number, " is corrupt: the padding after it is not zero");
    }
    return fetched(*frame, section.subspan(kFrameBytes, entry.payload_bytes));
  }

  std::uint64_t payload_bytes() const {
    std::uint64_t sum = 0;
    for (const IndexEntry& entry : index_) sum += entry.payload_bytes;
    return sum;
  }

 private:
  const ByteSource& source_;
  ChunkDecoder decoder_;
  std::vector<IndexEntry> index_;
};

OpenedStream opened(const ByteSource& source, const ChunkDecoder& decoder, StreamInfo info,
                    std::vector<IndexEntry> index) {
  auto directory = std::make_unique<Directory>(source, decoder, std::move(index));
  info.bytes_out = source.size();
  info.payload_bytes = directory->payload_bytes();
  return {decoder, std::move(info), std::move(directory)};
}

struct PlacedFooter {
  Footer footer;
  std::uint64_t offset = 0;
};

// From the end mark back to FOOT, which must reach exactly up to the trailer.
Result<PlacedFooter> read_footer(const ByteSource& source, std::uint64_t chunk_count) {
  const std::uint64_t end = source.size() - kTrailerBytes;
  SourceInput trailer_bytes(source, end, source.size());
  StreamInput trailer_input(trailer_bytes, end);
  TRY(const std::uint64_t offset, SectionReader(trailer_input).read_trailer());
  if (offset % kAlignment != 0 || offset < kPrologueBytes || offset > end ||
      end - offset < kFrameBytes) {
    return corrupt("the end of the stream points to byte ", offset,
                   " for the footer, where it cannot be");
  }
  SourceInput bytes(source, offset, end);
  StreamInput input(bytes, offset);
  SectionReader sections(input);
  TRY(const Frame frame, sections.read_frame());
  if (frame.type != kFoot) {
    return corrupt("the end of the stream points to byte ", offset, " for the footer, but section ",
                   name_of(frame.type), " begins there");
  }
  if (frame.payload_bytes > end - offset || section_bytes(frame.payload_bytes) != end - offset) {
    return corrupt("the footer claims ", frame.payload_bytes, " bytes, but ",
                   end - offset - kFrameBytes, " lie between its frame and the end mark");
  }
  RETURN_IF_ERROR(check_footer_size(frame.payload_bytes, chunk_count));
  AlignedBuffer buffer;
  TRY(const auto payload, sections.read_plain_section(frame, frame.payload_bytes, buffer));
  TRY(auto footer, parse_footer(payload, chunk_count));
  return PlacedFooter{std::move(footer), offset};
}

// Chunks follow each other without gaps and end before the footer. Returns where they end.
Result<std::uint64_t> check_index(const ChunkDecoder& decoder, std::span<const IndexEntry> index,
                                  std::uint64_t begin, std::uint64_t footer_offset) {
  std::uint64_t at = index.empty() ? begin : index.front().offset;
  if (at < begin || at % kAlignment != 0) {
    return corrupt("the footer places the first chunk at byte ", at, ", where it cannot be");
  }
  for (std::size_t number = 0; number < index.size(); ++number) {
    const IndexEntry& entry = index[number];
    if (entry.offset != at || at > footer_offset || entry.payload_bytes > footer_offset - at ||
        section_bytes(entry.payload_bytes) > footer_offset - at) {
      return corrupt("the footer places chunk ", number, " at byte ", entry.offset, " with ",
                     entry.payload_bytes, " bytes, where it cannot be");
    }
    RETURN_IF_ERROR(decoder.check_payload_size(number, entry.payload_bytes));
    at += section_bytes(entry.payload_bytes);
  }
  return at;
}

class PipeFeed : public ChunkFeed {
 public:
  PipeFeed(SectionReader& sections, const ChunkDecoder& decoder, const Frame& first)
      : sections_(sections), decoder_(decoder), first_(first) {}

  Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) override {
    Frame frame = first_;
    if (number > 0) {
      TRY(frame, sections_.read_frame());
    }
    index_.push_back({sections_.position() - kFrameBytes, frame.payload_bytes});
    RETURN_IF_ERROR(check_frame(decoder_, number, frame));
    TRY(const auto payload, sections_.read_payload(frame, scratch));
    return fetched(frame, payload);
  }
  bool survives_errors() const override { return false; }

  const std::vector<IndexEntry>& index() const { return index_; }

 private:
  SectionReader& sections_;
  const ChunkDecoder& decoder_;
  Frame first_;
  std::vector<IndexEntry> index_;
};

// The next frame that is a chunk or the footer; what stands before it is read or passed over.
Result<Frame> next_main_section(SectionReader& sections, std::vector<Attribute>* attributes) {
  while (true) {
    TRY(const Frame frame, sections.read_frame());
    if (frame.type == kChunk || frame.type == kFoot) return frame;
    RETURN_IF_ERROR(sections.read_other_section(frame, attributes));
  }
}

Result<Footer> read_last_footer(SectionReader& sections, const Frame& frame,
                                std::span<const IndexEntry> index) {
  const std::uint64_t offset = sections.position() - kFrameBytes;
  if (frame.type != kFoot) {
    return corrupt("chunk ", frame.number, " follows, but the header's grid has only ",
                   index.size(), " chunks");
  }
  RETURN_IF_ERROR(check_footer_size(frame.payload_bytes, index.size()));
  AlignedBuffer buffer;
  TRY(const auto payload, sections.read_plain_section(frame, frame.payload_bytes, buffer));
  TRY(auto footer, parse_footer(payload, index.size()));
  if (!std::ranges::equal(footer.index, index)) {
    return corrupt("the footer does not list the chunks as they came");
  }
  TRY(const std::uint64_t stated, sections.read_trailer());
  if (stated != offset) {
    return corrupt("the end of the stream points to byte ", stated,
                   " for the footer, which is at byte ", offset);
  }
  return footer;
}

}  // namespace

Result<void> check_frame(const ChunkDecoder& decoder, std::uint64_t number, const Frame& frame) {
  if (frame.type != kChunk) {
    return corrupt("chunk ", number, " is corrupt: section ", name_of(frame.type),
                   " stands in its place");
  }
  if (frame.number != number) {
    return corrupt("chunk ", number, " is corrupt: chunk ", frame.number, " stands in its place");
  }
  if ((frame.flags & ~kRawFlag) != 0) {
    return corrupt("chunk ", number, " is corrupt: its flags are ", frame.flags,
                   ", of which this version knows only 1");
  }
  return decoder.check_payload_size(number, frame.payload_bytes);
}

Result<OpenedStream> open(const ByteSource& source) {
  SourceInput bytes(source, kPrologueBytes, source.size());
  StreamInput input(bytes, kPrologueBytes);
  SectionReader opening(input);
  TRY(const Header header, opening.read_header());
  TRY(const auto decoder, ChunkDecoder::make(header));
  if (source.size() - opening.position() < kTrailerBytes) {
    return truncated("the stream ends at byte ", source.size(), " without an end mark");
  }
  TRY(auto placed, read_footer(source, decoder.grid().chunk_count()));
  auto& [footer, footer_offset] = placed;
  TRY(const std::uint64_t chunks_end,
      check_index(decoder, footer.index, opening.position(), footer_offset));
  StreamInfo info = info_of(header, decoder.grid(), 1);
  const std::uint64_t chunks_begin =
      footer.index.empty() ? footer_offset : footer.index.front().offset;
  RETURN_IF_ERROR(opening.read_other_sections(chunks_begin, &info.attributes));
  if (!footer.index.empty()) {
    SourceInput rest(source, chunks_end, footer_offset);
    StreamInput rest_input(rest, chunks_end);
    RETURN_IF_ERROR(SectionReader(rest_input).read_other_sections(footer_offset, nullptr));
  }
  info.statistics = std::move(footer.statistics);
  return opened(source, decoder, std::move(info), std::move(footer.index));
}

Result<OpenedStream> open_without_footer(const ByteSource& source) {
  SourceInput bytes(source, kPrologueBytes, source.size());
  StreamInput input(bytes, kPrologueBytes);
  SectionReader opening(input);
  TRY(const Header header, opening.read_header());
  TRY(const auto decoder, ChunkDecoder::make(header));
  TRY(auto index, find_chunks(source, decoder, opening.position()));
  StreamInfo info = info_of(header, decoder.grid(), 1);
  if (!index.empty() && index.front().offset != 0) {
    // Attributes are worth having, and no reason to give up the values.
    std::vector<Attribute> attributes;
    if (opening.read_other_sections(index.front().offset, &attributes).ok()) {
      info.attributes = std::move(attributes);
    }
  }
  return opened(source, decoder, std::move(info), std::move(index));
}

Result<StreamInfo> read_in_order(StreamInput& input, const MakeSink& make_sink,
                                 const DecompressOptions& options) {
  SectionReader sections(input);
  TRY(const Header header, sections.read_header());
  TRY(const auto decoder, ChunkDecoder::make(header));
  StreamInfo info = info_of(header, decoder.grid(), 1);
  RETURN_IF_ERROR(check_decompressed_size(info, options.max_bytes));

  TRY(Frame frame, next_main_section(sections, &info.attributes));
  PipeFeed feed(sections, decoder, frame);
  TRY(const auto sink, make_sink(info));
  if (info.chunk_count > 0) {
    RETURN_IF_ERROR(
        decode_in_order(decoder, feed, ChunkNumbers::range(0, info.chunk_count), *sink, options));
    TRY(frame, next_main_section(sections, nullptr));
  }
  TRY(auto footer, read_last_footer(sections, frame, feed.index()));
  info.statistics = std::move(footer.statistics);
  info.bytes_out = sections.position();
  for (const auto& entry : footer.index) info.payload_bytes += entry.payload_bytes;
  return info;
}

}  // namespace tensorpress::stream::framed
