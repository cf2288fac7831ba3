#include "stream/container/framed/sections.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "kernels/checksum/checksum.h"
#include "stream/container/framed/contents.h"

namespace tensorpress::stream::framed {
namespace {

std::string section_name(const Frame& frame) {
  return text("section ", name_of(frame.type));
}

Result<void> check_checksum(const Frame& frame, std::uint64_t payload_checksum) {
  const std::uint64_t found = frame_checksum(frame, payload_checksum);
  if (found == frame.checksum) return {};
  return checksum_error(section_name(frame), frame.checksum, found);
}

}  // namespace

Result<Header> SectionReader::read_header() {
  std::array<std::byte, 4> zeros;
  RETURN_IF_ERROR(input_.fill(zeros));
  if (std::ranges::any_of(zeros, [](std::byte byte) { return byte != std::byte{0}; })) {
    return corrupt("bytes 12 to 15 of the stream are not zero");
  }
  TRY(const auto frame, read_frame());
  if (frame.type != kHead) {
    return corrupt("the stream begins with section ", name_of(frame.type), " instead of HEAD");
  }
  AlignedBuffer buffer;
  TRY(const auto payload, read_plain_section(frame, kMaxHeadBytes, buffer));
  return parse_header(payload);
}

Result<Frame> SectionReader::read_frame() {
  std::array<std::byte, kFrameBytes> bytes;
  const std::uint64_t start = position();
  RETURN_IF_ERROR(input_.fill(bytes));
  auto frame = parse_frame(bytes);
  if (!frame.ok()) return corrupt("at byte ", start, ": ", frame.error().message);
  return frame;
}

Result<std::span<const std::byte>> SectionReader::read_payload(const Frame& frame,
                                                               AlignedBuffer& into) {
  TRY(const auto bytes, input_.read_bytes(frame.payload_bytes, into));
  RETURN_IF_ERROR(read_padding(frame));
  return bytes;
}

Result<void> SectionReader::read_padding(const Frame& frame) {
  std::array<std::byte, kAlignment> bytes{};
  RETURN_IF_ERROR(input_.fill(std::span(bytes).first(padding_after(frame.payload_bytes))));
  for (const auto byte : bytes) {
    if (byte != std::byte{0}) {
      return corrupt("the padding before byte ", position(), " is not zero");
    }
  }
  return {};
}

Result<std::span<const std::byte>> SectionReader::read_plain_section(const Frame& frame,
                                                                     std::uint64_t cap,
                                                                     AlignedBuffer& into) {
  if (frame.payload_bytes > cap) {
    return too_large(section_name(frame), " claims ", frame.payload_bytes, " bytes; the limit is ",
                     cap);
  }
  TRY(const auto payload, read_payload(frame, into));
  RETURN_IF_ERROR(check_checksum(frame, checksum_of(payload)));
  if (frame.flags != 0 || frame.number != 0) {
    return corrupt(section_name(frame), " has flags or a number, which must be 0");
  }
  return payload;
}

Result<void> SectionReader::read_other_section(const Frame& frame,
                                               std::vector<Attribute>* attributes) {
  if (frame.type == kAttributes) {
    if (attributes == nullptr) return corrupt("section attr stands after the first chunk");
    if (attributes_seen_) return corrupt("the stream has two attr sections");
    attributes_seen_ = true;
    AlignedBuffer buffer;
    TRY(const auto payload, read_plain_section(frame, kMaxAttributeBytes, buffer));
    TRY(*attributes, parse_attributes(payload));
    return {};
  }
  if (is_ancillary(frame.type)) {
    TRY(const std::uint64_t checksum, input_.skip(frame.payload_bytes));
    RETURN_IF_ERROR(read_padding(frame));
    return check_checksum(frame, checksum);
  }
  if (frame.type == kHead || frame.type == kChunk || frame.type == kFoot) {
    return corrupt(section_name(frame), " before byte ", position(), " is out of place");
  }
  return unsupported(section_name(frame), " before byte ", position(),
                     " is unknown to this version, and a reader must know it");
}

Result<void> SectionReader::read_other_sections(std::uint64_t end,
                                                std::vector<Attribute>* attributes) {
  while (position() < end) {
    TRY(const Frame frame, read_frame());
    RETURN_IF_ERROR(read_other_section(frame, attributes));
  }
  if (position() == end) return {};
  return corrupt("a section ends at byte ", position(), ", inside of what begins at byte ", end);
}

Result<std::uint64_t> SectionReader::read_trailer() {
  std::array<std::byte, kTrailerBytes> bytes;
  RETURN_IF_ERROR(input_.fill(bytes));
  return parse_trailer(bytes);
}

}  // namespace tensorpress::stream::framed
