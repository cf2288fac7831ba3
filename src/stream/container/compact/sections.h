// Walks over the sections of a stream of version 2 in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/container/compact/contents.h"
#include "stream/container/stream_input.h"

namespace tensorpress::stream::compact {

class SectionReader {
 public:
  explicit SectionReader(StreamInput& input) : input_(input) {}

  std::uint64_t position() const { return input_.position(); }

  Result<Header> read_header();
  /// The payload of a section whose letter has been read, at most `cap` bytes; all checked.
  Result<std::span<const std::byte>> read_section(char type, std::uint64_t cap,
                                                  AlignedBuffer& into);
  /// The letter of the section that comes next.
  Result<char> read_type();
  /// Passes over ancillary sections (attributes are kept, and wrong where none are wanted) up to
  /// one that must be `wanted`, whose letter is then read.
  Result<void> read_up_to(char wanted, std::vector<Attribute>* attributes);
  /// The trailer's offset of F.
  Result<std::uint64_t> read_trailer();

 private:
  Result<void> read_ancillary(char type, std::vector<Attribute>* attributes);
  Result<void> check_checksum(char type, std::uint64_t payload_bytes,
                              std::uint64_t payload_checksum);

  StreamInput& input_;
  bool attributes_seen_ = false;
};

}  // namespace tensorpress::stream::compact
