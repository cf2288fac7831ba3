// Walks over the sections of a stream of version 1 in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stream/container/format.h"
#include "stream/container/framed/frame.h"
#include "stream/container/stream_input.h"

namespace tensorpress::stream::framed {

class SectionReader {
 public:
  explicit SectionReader(StreamInput& input) : input_(input) {}

  /// The offset in the stream of the next byte.
  std::uint64_t position() const { return input_.position(); }

  /// The rest of the prologue, and HEAD.
  Result<Header> read_header();
  Result<Frame> read_frame();
  /// The payload, and its padding checked; the caller checks the checksum.
  Result<std::span<const std::byte>> read_payload(const Frame& frame, AlignedBuffer& into);
  /// The payload of a section that has no flags and no number, at most `cap` bytes; all checked.
  Result<std::span<const std::byte>> read_plain_section(const Frame& frame, std::uint64_t cap,
                                                        AlignedBuffer& into);
  /// A section that is not read elsewhere: attr (at most one, and only where `attributes` is given)
  /// is stored, unknown ancillary ones are checked and passed over, all others are errors.
  Result<void> read_other_section(const Frame& frame, std::vector<Attribute>* attributes);
  /// All that reaches up to `end`.
  Result<void> read_other_sections(std::uint64_t end, std::vector<Attribute>* attributes);
  /// The trailer's offset of FOOT.
  Result<std::uint64_t> read_trailer();

 private:
  Result<void> read_padding(const Frame& frame);

  StreamInput& input_;
  bool attributes_seen_ = false;
};

}  // namespace tensorpress::stream::framed
