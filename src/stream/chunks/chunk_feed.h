// Chunks as they come out of a stream of either version, before they are decoded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "kernels/checksum/checksum.h"
#include "tensorpress/aligned_buffer.h"
#include "tensorpress/result.h"

namespace tensorpress::stream {

/// What the checksum of a chunk must be: the XXH3 of `fields`, seeded with that of the payload, of
/// which a stream has the bits of `mask`. A mask of 0: the payload has been checked already.
struct ChunkSeal {
  std::array<std::byte, 24> fields{};
  std::size_t field_bytes = 0;
  std::uint64_t mask = 0;
  std::uint64_t expected = 0;

  std::uint64_t found(std::uint64_t payload_checksum) const {
    return checksum_of(std::span(fields).first(field_bytes), payload_checksum) & mask;
  }
};

struct FetchedChunk {
  std::span<const std::byte> payload;
  bool raw = false;  // the payload is the elements themselves
  ChunkSeal seal = {};
};

/// Where chunks come from.
class ChunkFeed {
 public:
  virtual ~ChunkFeed() = default;
  /// The payload of the next chunk, whose size the decoder has found plausible; `scratch` may hold
  /// it. Called on one thread, in ascending order.
  virtual Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) = 0;
  /// Whether chunks after one that could not be fetched can still be found.
  virtual bool survives_errors() const = 0;
};

/// The places of all chunks. Safe to call from several threads.
class ChunkDirectory {
 public:
  virtual ~ChunkDirectory() = default;
  /// As a feed does, in any order.
  virtual Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) const = 0;
};

}  // namespace tensorpress::stream
