#include "stream/chunks/section_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/errors.h"
#include "kernels/checksum/checksum.h"

namespace tensorpress::stream {
namespace {

// A payload up to this size is allocated at once, on the word of its frame.
constexpr std::uint64_t kFirstStepBytes = std::uint64_t{64} << 20;

std::string section_name(const Frame& frame) {
  return text("section ", name_of(frame.type));
}

}  // namespace

Result<std::size_t> SourceInput::read(std::span<std::byte> into) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), end_ - at_));
  if (count > 0) RETURN_IF_ERROR(source_.read_at(at_, into.first(count)));
  at_ += count;
  return count;
}

Result<std::span<std::byte>> try_reserve(AlignedBuffer& buffer, std::uint64_t bytes) {
  if (bytes <= PTRDIFF_MAX) {
    try {
      return buffer.reserve(static_cast<std::size_t>(bytes));
    } catch (const std::bad_alloc&) {
    }
  }
  return too_large("a buffer of ", human_bytes(bytes), " cannot be allocated");
}

Error checksum_error(std::string_view what, std::uint64_t expected, std::uint64_t found) {
  return corrupt(what, " is corrupt: checksum ", hex(expected), " expected, ", hex(found),
                 " found");
}

Result<void> SectionReader::fill(std::span<std::byte> into) {
  TRY(const std::size_t count, input_.read(into));
  position_ += count;
  if (count == into.size()) return {};
  return truncated("the stream ends at byte ", position_, ", ", into.size() - count,
                   " bytes too early: it was cut off");
}

Result<void> SectionReader::read_prologue() {
  std::array<std::byte, kPrologueBytes> bytes{};
  TRY(const std::size_t count, input_.read(bytes));
  position_ += count;
  // Something else entirely is more likely than a very short stream.
  auto result = check_prologue(bytes);
  if (count == bytes.size()) return result;
  if (!result.ok() && result.error().code == ErrorCode::corrupt) return result;
  return truncated("the stream ends at byte ", position_, ", inside its first 16 bytes");
}

Result<Frame> SectionReader::read_frame() {
  std::array<std::byte, kFrameBytes> bytes;
  const std::uint64_t start = position_;
  RETURN_IF_ERROR(fill(bytes));
  auto frame = parse_frame(bytes);
  if (!frame.ok()) return corrupt("at byte ", start, ": ", frame.error().message);
  return frame;
}

Result<std::span<const std::byte>> SectionReader::read_payload(const Frame& frame,
                                                               AlignedBuffer& into) {
  const std::uint64_t total = frame.payload_bytes;
  std::uint64_t step = std::max<std::uint64_t>(kFirstStepBytes, into.size());
  TRY(auto bytes, try_reserve(into, std::min(total, step)));
  RETURN_IF_ERROR(fill(bytes));
  while (bytes.size() < total) {
    step = bytes.size() * 2;
    AlignedBuffer larger;
    TRY(const auto grown, try_reserve(larger, std::min(total, step)));
    std::memcpy(grown.data(), bytes.data(), bytes.size());
    RETURN_IF_ERROR(fill(grown.subspan(bytes.size())));
    std::swap(into, larger);
    bytes = grown;
  }
  RETURN_IF_ERROR(read_padding(frame));
  return std::span<const std::byte>(bytes);
}

Result<void> SectionReader::read_padding(const Frame& frame) {
  std::array<std::byte, kAlignment> bytes{};
  RETURN_IF_ERROR(fill(std::span(bytes).first(padding_after(frame.payload_bytes))));
  for (const auto byte : bytes) {
    if (byte != std::byte{0}) {
      return corrupt("the padding before byte ", position_, " is not zero");
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
  const std::uint64_t found = frame_checksum(frame, checksum_of(payload));
  if (found != frame.checksum) return checksum_error(section_name(frame), frame.checksum, found);
  if (frame.flags != 0 || frame.number != 0) {
    return corrupt(section_name(frame), " has flags or a number, which must be 0");
  }
  return payload;
}

Result<Header> SectionReader::read_header() {
  TRY(const auto frame, read_frame());
  if (frame.type != kHead) {
    return corrupt("the stream begins with section ", name_of(frame.type), " instead of HEAD");
  }
  AlignedBuffer buffer;
  TRY(const auto payload, read_plain_section(frame, kMaxHeadBytes, buffer));
  return parse_header(payload);
}

Result<void> SectionReader::skip_payload(const Frame& frame) {
  std::array<std::byte, 4096> piece;
  Checksum checksum;
  for (std::uint64_t left = frame.payload_bytes; left > 0;) {
    const auto part = std::span(piece).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size())));
    RETURN_IF_ERROR(fill(part));
    checksum.update(part);
    left -= part.size();
  }
  RETURN_IF_ERROR(read_padding(frame));
  const std::uint64_t found = frame_checksum(frame, checksum.value());
  if (found != frame.checksum) return checksum_error(section_name(frame), frame.checksum, found);
  return {};
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
  if (is_ancillary(frame.type)) return skip_payload(frame);
  if (frame.type == kHead || frame.type == kChunk || frame.type == kFoot) {
    return corrupt(section_name(frame), " before byte ", position_, " is out of place");
  }
  return unsupported(section_name(frame), " before byte ", position_,
                     " is unknown to this version, and a reader must know it");
}

Result<std::uint64_t> SectionReader::read_trailer() {
  std::array<std::byte, kTrailerBytes> bytes;
  RETURN_IF_ERROR(fill(bytes));
  return parse_trailer(bytes);
}

Result<void> SectionReader::expect_end() {
  std::array<std::byte, 1> byte;
  TRY(const std::size_t count, input_.read(byte));
  if (count == 0) return {};
  return corrupt("the stream ends at byte ", position_, ", but more bytes follow");
}

}  // namespace tensorpress::stream
