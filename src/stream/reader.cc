#include "stream/reader.h"

#include <algorithm>

#include "base/errors.h"
#include "base/tensor/region.h"
#include "base/text.h"
#include "stream/chunks/chunk_flow.h"
#include "stream/chunks/section_reader.h"
#include "stream/container/find_chunks.h"

namespace tensorpress {

using namespace stream;

struct StreamReader::State {
  /// Completes `known` with what the index and the source say.
  State(const ByteSource& bytes, ChunkDecoder chunks, StreamInfo known,
        std::vector<IndexEntry> places)
      : source(bytes),
        decoder(std::move(chunks)),
        info(std::move(known)),
        index(std::move(places)) {
    info.bytes_out = source.size();
    for (const IndexEntry& entry : index) info.payload_bytes += entry.payload_bytes;
  }

  const ByteSource& source;
  ChunkDecoder decoder;
  StreamInfo info;
  std::vector<IndexEntry> index;

  Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) const;

  /// Chunks in any order, found by the index.
  class Feed : public ChunkFeed {
   public:
    explicit Feed(const State& state) : state_(state) {}
    Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) override {
      return state_.fetch(number, scratch);
    }
    bool survives_errors() const override { return true; }

   private:
    const State& state_;
  };

  Result<void> decode(const ChunkNumbers& numbers, TensorSink& sink,
                      const DecompressOptions& options) const {
    Feed feed(*this);
    return decode_in_order(decoder, feed, numbers, sink, options);
  }
};

namespace {

struct PlacedFooter {
  Footer footer;
  std::uint64_t offset = 0;
};

// From the end mark back to FOOT, which must reach exactly up to the trailer.
Result<PlacedFooter> read_footer(const ByteSource& source, std::uint64_t chunk_count) {
  const std::uint64_t end = source.size() - kTrailerBytes;
  SourceInput trailer_input(source, end, source.size());
  TRY(const std::uint64_t offset, SectionReader(trailer_input, end).read_trailer());
  if (offset % kAlignment != 0 || offset < kPrologueBytes || offset > end ||
      end - offset < kFrameBytes) {
    return corrupt("the end of the stream points to byte ", offset,
                   " for the footer, where it cannot be");
  }
  SourceInput input(source, offset, end);
  SectionReader sections(input, offset);
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

// The sections between two offsets, all of which a reader may do without.
Result<void> read_ancillary(SectionReader& sections, std::uint64_t end,
                            std::vector<Attribute>* attributes) {
  while (sections.position() < end) {
    TRY(const Frame frame, sections.read_frame());
    RETURN_IF_ERROR(sections.read_other_section(frame, attributes));
  }
  if (sections.position() != end) {
    return corrupt("a section ends at byte ", sections.position(),
                   ", inside of what begins at byte ", end);
  }
  return {};
}

/// What every stream begins with; `sections` stands behind it.
Result<std::pair<Header, ChunkDecoder>> read_opening(SectionReader& sections) {
  RETURN_IF_ERROR(sections.read_prologue());
  TRY(Header header, sections.read_header());
  TRY(auto decoder, ChunkDecoder::make(header));
  return std::pair(std::move(header), std::move(decoder));
}

// Reading any part of a stream holds at least one whole chunk.
Result<void> check_chunk_size(const StreamInfo& info, const ChunkGrid& grid,
                              std::uint64_t max_bytes) {
  if (grid.chunk_count() == 0) return {};
  const Shape largest = grid.region(0).extent;
  const std::uint64_t bytes = largest.element_count() * size_of(info.dtype);
  if (bytes <= max_bytes) return {};
  return too_large("the stream has chunks of shape ", largest.to_string(), ", ", human_bytes(bytes),
                   ", and parts are read by whole chunks; the limit is ", human_bytes(max_bytes),
                   " (max_bytes)");
}

// Passes on what lies inside `part`, in its coordinates.
class CroppingSink : public TensorSink {
 public:
  CroppingSink(const Region& part, TensorSink& sink) : part_(part), sink_(sink) {}

  Result<void> write(const Region& region, const TensorView& elements) override {
    Region inside{{}, region.extent}, target{{}, region.extent};
    for (std::size_t axis = 0; axis < region.extent.rank(); ++axis) {
      const std::uint64_t begin = std::max(region.origin[axis], part_.origin[axis]);
      const std::uint64_t end = std::min(region.origin[axis] + region.extent[axis],
                                         part_.origin[axis] + part_.extent[axis]);
      inside.origin[axis] = begin - region.origin[axis];
      target.origin[axis] = begin - part_.origin[axis];
      inside.extent[axis] = target.extent[axis] = end - begin;
    }
    return sink_.write(target, elements.part(inside));
  }

 private:
  Region part_;
  TensorSink& sink_;
};

}  // namespace

Result<FetchedChunk> StreamReader::State::fetch(std::uint64_t number,
                                                AlignedBuffer& scratch) const {
  const IndexEntry& entry = index[static_cast<std::size_t>(number)];
  if (entry.offset == 0) return corrupt("chunk ", number, " is not in what is left of the stream");
  const auto size = static_cast<std::size_t>(section_bytes(entry.payload_bytes));
  std::span<const std::byte> section;
  if (const auto memory = source.in_memory(); !memory.empty()) {
    section = memory.subspan(static_cast<std::size_t>(entry.offset), size);
  } else {
    TRY(const auto room, try_reserve(scratch, size));
    RETURN_IF_ERROR(source.read_at(entry.offset, room));
    section = room;
  }
  const auto frame = parse_frame(section.first<kFrameBytes>());
  if (!frame.ok()) return corrupt("chunk ", number, " is corrupt: ", frame.error().message);
  RETURN_IF_ERROR(decoder.check_frame(number, *frame));
  if (frame->payload_bytes != entry.payload_bytes) {
    return corrupt("chunk ", number, " is corrupt: its frame says ", frame->payload_bytes,
                   " bytes, the footer ", entry.payload_bytes);
  }
  const auto padding = section.last(padding_after(entry.payload_bytes));
  if (std::ranges::any_of(padding, [](std::byte byte) { return byte != std::byte{0}; })) {
    return corrupt("chunk ", number, " is corrupt: the padding after it is not zero");
  }
  return FetchedChunk{*frame,
                      section.subspan(kFrameBytes, static_cast<std::size_t>(entry.payload_bytes))};
}

Result<StreamReader> StreamReader::open(const ByteSource& source) {
  SourceInput input(source, 0, source.size());
  SectionReader opening(input, 0);
  TRY(auto begun, read_opening(opening));
  auto& [header, decoder] = begun;
  if (source.size() - opening.position() < kTrailerBytes) {
    return truncated("the stream ends at byte ", source.size(), " without an end mark");
  }
  TRY(auto placed, read_footer(source, decoder.grid().chunk_count()));

  auto& [footer, footer_offset] = placed;
  TRY(const std::uint64_t chunks_end,
      check_index(decoder, footer.index, opening.position(), footer_offset));
  StreamInfo info = info_of(header, decoder.grid());
  const std::uint64_t chunks_begin =
      footer.index.empty() ? footer_offset : footer.index.front().offset;
  RETURN_IF_ERROR(read_ancillary(opening, chunks_begin, &info.attributes));
  if (!footer.index.empty()) {
    SourceInput rest(source, chunks_end, footer_offset);
    SectionReader closing(rest, chunks_end);
    RETURN_IF_ERROR(read_ancillary(closing, footer_offset, nullptr));
  }
  info.statistics = std::move(footer.statistics);
  return StreamReader(std::make_shared<const State>(source, std::move(decoder), std::move(info),
                                                    std::move(footer.index)));
}

Result<StreamReader> StreamReader::open_without_footer(const ByteSource& source) {
  SourceInput input(source, 0, source.size());
  SectionReader opening(input, 0);
  TRY(auto begun, read_opening(opening));
  auto& [header, decoder] = begun;
  TRY(auto index, find_chunks(source, decoder, opening.position()));
  StreamInfo info = info_of(header, decoder.grid());
  if (!index.empty() && index.front().offset != 0) {
    // Attributes are worth having, and no reason to give up the values.
    std::vector<Attribute> attributes;
    if (read_ancillary(opening, index.front().offset, &attributes).ok()) {
      info.attributes = std::move(attributes);
    }
  }
  return StreamReader(
      std::make_shared<const State>(source, std::move(decoder), std::move(info), std::move(index)));
}

const StreamInfo& StreamReader::info() const {
  return state_->info;
}

StreamReader::StreamReader(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Region StreamReader::chunk(std::uint64_t number) const {
  return state_->decoder.grid().region(number);
}

const ChunkGrid& ReaderAccess::grid(const StreamReader& reader) {
  return reader.state_->decoder.grid();
}

Result<void> ReaderAccess::read_chunk(const StreamReader& reader, std::uint64_t number,
                                      const MutableTensorView& output, ChunkWorkspace& workspace) {
  const auto& state = *reader.state_;
  if (number >= state.index.size()) {
    return bad_argument("chunk ", number, " does not exist; the stream has ", state.index.size());
  }
  const Shape extent = reader.chunk(number).extent;
  if (output.shape != extent || output.dtype != state.info.dtype) {
    return bad_argument("chunk ", number, " has shape ", extent.to_string(), " and type ",
                        name_of(state.info.dtype), ", the output ", output.shape.to_string(),
                        " and ", name_of(output.dtype));
  }
  AlignedBuffer scratch;
  TRY(const auto fetched, state.fetch(number, scratch));
  return state.decoder.decode(number, fetched.frame, fetched.payload, output, workspace);
}

Result<void> StreamReader::read_all(TensorSink& sink, const DecompressOptions& options) const {
  RETURN_IF_ERROR(check_decompressed_size(info(), options.max_bytes));
  return state_->decode(ChunkNumbers::range(0, info().chunk_count), sink, options);
}

Result<void> StreamReader::read_chunks(std::uint64_t first, std::uint64_t count, TensorSink& sink,
                                       const DecompressOptions& options) const {
  const std::uint64_t existing = info().chunk_count;
  if (first > existing || count > existing - first) {
    return bad_argument("chunks ", first, " and ", count,
                        " from there on are not all there; the stream has ", existing);
  }
  RETURN_IF_ERROR(check_chunk_size(info(), state_->decoder.grid(), options.max_bytes));
  return state_->decode(ChunkNumbers::range(first, count), sink, options);
}

Result<void> StreamReader::read_chunks(std::span<const std::uint64_t> numbers, TensorSink& sink,
                                       const DecompressOptions& options) const {
  if (!numbers.empty() && numbers.back() >= info().chunk_count) {
    return bad_argument("chunk ", numbers.back(), " does not exist; the stream has ",
                        info().chunk_count);
  }
  RETURN_IF_ERROR(check_chunk_size(info(), state_->decoder.grid(), options.max_bytes));
  return state_->decode(ChunkNumbers::of(numbers), sink, options);
}

Result<void> StreamReader::read_region(const Region& part, TensorSink& sink,
                                       const DecompressOptions& options) const {
  RETURN_IF_ERROR(check_region(info().shape, part));
  StreamInfo wanted = info();
  wanted.shape = part.extent;
  RETURN_IF_ERROR(check_decompressed_size(wanted, options.max_bytes));
  RETURN_IF_ERROR(check_chunk_size(info(), state_->decoder.grid(), options.max_bytes));
  CroppingSink cropping(part, sink);
  const auto numbers = state_->decoder.grid().chunks_in(part);
  return state_->decode(ChunkNumbers::of(numbers), cropping, options);
}

}  // namespace tensorpress
