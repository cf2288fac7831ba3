// Where streams are read from and written to: memory, files, pipes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensorpress/result.h"

namespace tensorpress::stream {

/// Bytes going out, in order.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
  /// Where the next bytes will lie, when the sink is memory; empty otherwise. What is written there
  /// counts once it is appended, which then copies nothing.
  virtual std::span<std::byte> room() { return {}; }
  /// Whether rewind() works.
  virtual bool can_rewind() const { return false; }
  /// Forgets everything that was appended.
  virtual Result<void> rewind();
};

/// Bytes coming in, in order, from something that cannot seek.
class ByteInput {
 public:
  virtual ~ByteInput() = default;
  /// Fills `into` as far as the input reaches; fewer bytes than asked for means the input has
  /// ended.
  virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
};

/// Bytes at any position. Safe to call from several threads at once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  /// All of `into`, or an error: `truncated` beyond the end.
  virtual Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
  /// The bytes without a copy when the source is memory; empty otherwise.
  virtual std::span<const std::byte> in_memory() const { return {}; }
};

}  // namespace tensorpress::stream
