// Walks over the sections of a stream in order, from a pipe or from a part of something that can
// seek. Payloads are allocated as their bytes arrive, so a claim alone costs no memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/aligned_buffer.h"
#include "stream/container/byte_io.h"
#include "stream/container/format.h"

namespace tensorpress::stream {

/// The bytes of a source from one offset up to another, in order.
class SourceInput : public ByteInput {
 public:
  SourceInput(const ByteSource& source, std::uint64_t from, std::uint64_t to)
      : source_(source), at_(from), end_(to) {}
  Result<std::size_t> read(std::span<std::byte> into) override;

 private:
  const ByteSource& source_;
  std::uint64_t at_;
  std::uint64_t end_;
};

/// A buffer of that size, or too_large when the memory cannot be had.
Result<std::span<std::byte>> try_reserve(AlignedBuffer& buffer, std::uint64_t bytes);

class SectionReader {
 public:
  /// `position` is the offset in the stream of the input's first byte.
  SectionReader(ByteInput& input, std::uint64_t position) : input_(input), position_(position) {}

  /// The offset in the stream of the next byte.
  std::uint64_t position() const { return position_; }

  Result<void> read_prologue();
  Result<Frame> read_frame();
  /// The payload, and its padding checked; the caller checks the checksum.
  Result<std::span<const std::byte>> read_payload(const Frame& frame, AlignedBuffer& into);
  /// The payload of a section that has no flags and no number, at most `cap` bytes; all checked.
  Result<std::span<const std::byte>> read_plain_section(const Frame& frame, std::uint64_t cap,
                                                        AlignedBuffer& into);
  /// HEAD with its frame.
  Result<Header> read_header();
  /// A section that is not read elsewhere: attr (at most one, and only where `attributes` is given)
  /// is stored, unknown ancillary ones are checked and passed over, all others are errors.
  Result<void> read_other_section(const Frame& frame, std::vector<Attribute>* attributes);
  /// The trailer's offset of FOOT.
  Result<std::uint64_t> read_trailer();
  /// Fails unless the input has ended.
  Result<void> expect_end();

 private:
  Result<void> fill(std::span<std::byte> into);
  Result<void> read_padding(const Frame& frame);
  Result<void> skip_payload(const Frame& frame);

  ByteInput& input_;
  std::uint64_t position_;
  bool attributes_seen_ = false;
};

/// The error for a section whose checksum is wrong; `what` names it ("chunk 17").
Error checksum_error(std::string_view what, std::uint64_t expected, std::uint64_t found);

}  // namespace tensorpress::stream
