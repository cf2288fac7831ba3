// The bytes of a stream in order, from a pipe or from a part of something that can seek. Payloads
// are allocated as their bytes arrive, so a claim alone costs no memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensorpress/aligned_buffer.h"
#include "tensorpress/streaming.h"

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

/// The bytes from `offset` on without a copy if the source is memory; else read into `scratch`.
Result<std::span<const std::byte>> bytes_at(const ByteSource& source, std::uint64_t offset,
                                            std::uint64_t size, AlignedBuffer& scratch);

class StreamInput {
 public:
  /// `position` is the offset in the stream of the input's first byte.
  StreamInput(ByteInput& input, std::uint64_t position) : input_(input), position_(position) {}

  /// The offset in the stream of the next byte.
  std::uint64_t position() const { return position_; }

  /// The version of the stream, from its first 12 bytes.
  Result<unsigned> read_prologue();
  /// All of it, or `truncated`.
  Result<void> fill(std::span<std::byte> into);
  Result<std::uint8_t> read_byte();
  /// In its shortest form: every number has one.
  Result<std::uint64_t> read_varint();
  /// As many bytes, in memory that grows while they come.
  Result<std::span<const std::byte>> read_bytes(std::uint64_t count, AlignedBuffer& into);
  /// Passes over as many; their XXH3.
  Result<std::uint64_t> skip(std::uint64_t count);
  /// Fails unless the input has ended.
  Result<void> expect_end();

 private:
  ByteInput& input_;
  std::uint64_t position_;
};

/// The error for something whose checksum is wrong; `what` names it ("chunk 17").
Error checksum_error(std::string_view what, std::uint64_t expected, std::uint64_t found);

}  // namespace tensorpress::stream
