// The index of a stream of version 2: which records its chunks have, in runs. A token is a varint,
// of which the lowest two bits say what it means and the others are n:
//
//   0   n chunks repeat. The payload that they repeat follows, unless it did before
//   1   n chunks are raw
//   2   n chunks are coded, each with as many bytes as the last coded one (0 bytes before any)
//   3   one chunk is coded; n is the zigzag code of its bytes minus those of the last coded one
//
// Offsets follow from it: records stand one behind the other. A run is as long as it can be, so
// that there is one index for given records. The payload of repeats is here too: damage to the
// chunk that they repeat is no damage to them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "stream/chunks/chunk_decoder.h"
#include "stream/container/compact/record.h"

namespace tensorpress::stream::compact {

class IndexWriter {
 public:
  void add_raw() { count(Kind::raw); }
  void add_coded(std::uint64_t payload_bytes, const std::optional<ShortPayload>& payload);
  void add_repeat() { count(Kind::repeat); }
  std::vector<std::byte> finish() &&;

 private:
  enum class Kind : std::uint8_t { repeat, raw, same_size, other_size };

  void count(Kind kind);
  void end_run();

  ByteWriter tokens_;
  Kind kind_ = Kind::raw;
  std::uint64_t run_ = 0;
  std::uint64_t last_bytes_ = 0;
  ShortPayload repeated_;
  bool repeated_is_listed_ = false;
};

/// The record of chunk `number` that begins with `code`, if there can be such a one. Not for
/// repeats.
Result<Record> record_of(const ChunkDecoder& decoder, std::uint64_t number, std::uint64_t code);

/// Where chunks are, by number. Memory is for runs, not for chunks.
class Index {
 public:
  struct Place {
    Record record = {};
    std::uint64_t offset = 0;
    const ShortPayload* repeated = nullptr;  // of a repeat; then the record is meaningless
  };

  /// Takes the tokens for all chunks of the grid from `reader`. Records lie between `begin` and
  /// `end`, and every one is of a size that its chunk can have.
  static Result<Index> parse(ByteReader& reader, const ChunkDecoder& decoder, std::uint64_t begin,
                             std::uint64_t end);

  Place place(std::uint64_t number) const;
  std::uint64_t end() const { return end_; }
  std::uint64_t payload_bytes() const { return payload_bytes_; }
  std::uint64_t raw_chunks() const { return raw_chunks_; }

 private:
  class Parser;
  struct Run {
    std::uint64_t first = 0;   // number of its first chunk
    std::uint64_t offset = 0;  // of that chunk's record
    Record record;
    std::uint64_t repeated = 0;  // which of `repeated_`
  };

  std::vector<Run> runs_;
  std::vector<ShortPayload> repeated_;
  std::uint64_t end_ = 0;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t raw_chunks_ = 0;
};

}  // namespace tensorpress::stream::compact
