// One pass over a stream that cannot seek. Everything is checked as it comes by; a chunk that turns
// out corrupt late leaves a sink that was already written to, which the caller throws away.
#include <algorithm>

#include "base/errors.h"
#include "stream/chunks/chunk_flow.h"
#include "stream/chunks/section_reader.h"
#include "stream/reader.h"

namespace tensorpress::stream {
namespace {

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
    RETURN_IF_ERROR(decoder_.check_frame(number, frame));
    TRY(const auto payload, sections_.read_payload(frame, scratch));
    return FetchedChunk{frame, payload};
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

Result<Footer> read_footer(SectionReader& sections, const Frame& frame,
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
  RETURN_IF_ERROR(sections.expect_end());
  return footer;
}

}  // namespace

Result<StreamInfo> read_sequentially(
    ByteInput& input,
    const std::function<Result<std::unique_ptr<TensorSink>>(const StreamInfo&)>& make_sink,
    const ReadOptions& options) {
  SectionReader sections(input, 0);
  RETURN_IF_ERROR(sections.read_prologue());
  TRY(const Header header, sections.read_header());
  TRY(const auto decoder, ChunkDecoder::make(header));
  StreamInfo info = info_of(header, decoder.grid());
  RETURN_IF_ERROR(check_decompressed_size(info, options.max_bytes));

  TRY(Frame frame, next_main_section(sections, &info.attributes));
  PipeFeed feed(sections, decoder, frame);
  TRY(const auto sink, make_sink(info));
  if (info.chunk_count > 0) {
    RETURN_IF_ERROR(decode_in_order(decoder, feed, *sink, options));
    TRY(frame, next_main_section(sections, nullptr));
  }
  TRY(auto footer, read_footer(sections, frame, feed.index()));
  info.statistics = std::move(footer.statistics);
  info.bytes_out = sections.position();
  for (const auto& entry : footer.index) info.payload_bytes += entry.payload_bytes;
  return info;
}

}  // namespace tensorpress::stream
