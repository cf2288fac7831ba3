// Streams of version 2 taken apart and put together again, after docs/format.md and without our own
// parser; and the same tensors in streams of version 1.
#pragma once

#include "unit/stream/samples.h"

namespace tensorpress::samples {

struct CompactSection {
  char type = 0;
  Bytes payload = {};
};
struct CompactRecord {
  std::uint64_t code = 0;  // 1 raw, 2 repeat, n + 3 coded
  Bytes payload = {};
};
struct CompactStream {
  std::vector<CompactSection> before;  // H first
  std::vector<CompactRecord> records;
  std::vector<CompactSection> after;  // F last: index, then statistics

  Bytes& head() { return before.front().payload; }
  Bytes& foot() { return after.back().payload; }
};

CompactStream take_apart_compact(const Bytes& stream);
/// With right checksums and trailer. `renew_index` also writes the index of these records.
Bytes put_together(const CompactStream& stream, bool renew_index = true);

/// What a stream of either version holds, in one of version 1.
Bytes in_version_1(const Bytes& stream);

/// Where a chunk lies in a stream of either version.
struct ChunkPlace {
  std::size_t begin = 0;  // of its frame or record
  std::size_t payload = 0;
  std::size_t end = 0;
};
std::vector<ChunkPlace> places_of_chunks(const Bytes& stream);
std::size_t place_of_footer(const Bytes& stream);

}  // namespace tensorpress::samples
