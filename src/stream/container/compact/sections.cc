#include "stream/container/compact/sections.h"

#include <array>

#include "base/errors.h"
#include "kernels/checksum/checksum.h"
#include "stream/container/compact/record.h"

namespace tensorpress::stream::compact {
namespace {

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

}  // namespace

Result<Header> SectionReader::read_header() {
  TRY(const char type, read_type());
  if (type != kHead) {
    return corrupt("the stream begins with section ", type, " instead of H, its header");
  }
  AlignedBuffer buffer;
  TRY(const auto payload, read_section(type, kMaxHeadBytes, buffer));
  return parse_header(payload);
}

Result<char> SectionReader::read_type() {
  TRY(const std::uint8_t byte, input_.read_byte());
  const char type = static_cast<char>(byte);
  if (is_letter(type)) return type;
  return corrupt("no section begins at byte ", position() - 1, ": its type is not a letter");
}

Result<void> SectionReader::check_checksum(char type, std::uint64_t payload_bytes,
                                           std::uint64_t payload_checksum) {
  std::array<std::byte, 8> stored;
  RETURN_IF_ERROR(input_.fill(std::span(stored).first(checksum_bytes(payload_bytes))));
  const std::uint64_t expected = load_checksum(payload_bytes, stored.data());
  const std::uint64_t found =
      section_checksum(type, payload_bytes, payload_checksum) & checksum_mask(payload_bytes);
  if (found == expected) return {};
  return checksum_error(text("section ", type), expected, found);
}

Result<std::span<const std::byte>> SectionReader::read_section(char type, std::uint64_t cap,
                                                               AlignedBuffer& into) {
  TRY(const std::uint64_t size, input_.read_varint());
  if (size > cap) {
    return too_large("section ", type, " claims ", size, " bytes; the limit is ", cap);
  }
  TRY(const auto payload, input_.read_bytes(size, into));
  RETURN_IF_ERROR(check_checksum(type, size, checksum_of(payload)));
  return payload;
}

Result<void> SectionReader::read_ancillary(char type, std::vector<Attribute>* attributes) {
  if (type == kAttributes) {
    if (attributes == nullptr) return corrupt("the attributes stand after the chunks");
    if (attributes_seen_) return corrupt("the stream has attributes twice");
    attributes_seen_ = true;
    AlignedBuffer buffer;
    TRY(const auto payload, read_section(type, kMaxAttributeBytes, buffer));
    TRY(*attributes, parse_attributes(payload));
    return {};
  }
  if (type >= 'a' && type <= 'z') {
    TRY(const std::uint64_t size, input_.read_varint());
    TRY(const std::uint64_t checksum, input_.skip(size));
    return check_checksum(type, size, checksum);
  }
  if (type == kHead || type == kChunks || type == kFoot) {
    return corrupt("section ", type, " at byte ", position() - 1, " is out of place");
  }
  return unsupported("section ", type, " at byte ", position() - 1,
                     " is unknown to this version, and a reader must know it");
}

Result<void> SectionReader::read_up_to(char wanted, std::vector<Attribute>* attributes) {
  while (true) {
    TRY(const char type, read_type());
    if (type == wanted) return {};
    RETURN_IF_ERROR(read_ancillary(type, attributes));
  }
}

Result<std::uint64_t> SectionReader::read_trailer() {
  std::array<std::byte, kTrailerBytes> bytes;
  RETURN_IF_ERROR(input_.fill(bytes));
  return parse_trailer(bytes);
}

}  // namespace tensorpress::stream::compact
