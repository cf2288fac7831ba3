#include "codecs/bounded/mask.h"

#include <algorithm>
#include <cstring>

#include "base/errors.h"

namespace tensorpress::bounded {
namespace {

constexpr std::size_t kPredecessors = 3;

// How many elements back the predecessor of an element lies; 0 when the chunk has none.
std::size_t distance_of(std::size_t predecessor, const Shape& shape) {
  if (predecessor == 0 || shape.rank() < predecessor + 1) return 0;
  std::size_t distance = 1;
  for (std::size_t i = 0; i < predecessor; ++i) {
    distance *= static_cast<std::size_t>(shape[shape.rank() - 1 - i]);
  }
  return distance;
}

// Calls visit(start, end) for every run of elements that differ from their predecessor.
template <class Visit>
void for_each_run(std::span<const std::uint8_t> mask, std::size_t distance, Visit visit) {
  const std::size_t count = mask.size();
  const auto differs = [&](std::size_t i) {
    return distance == 0 || i < distance ? mask[i] : mask[i] ^ mask[i - distance];
  };
  // Eight bytes at a time over what does not change.
  const auto word_at = [&](std::size_t i) {
    std::uint64_t word, before = 0;
    std::memcpy(&word, mask.data() + i, sizeof word);
    if (distance != 0) std::memcpy(&before, mask.data() + i - distance, sizeof before);
    return word ^ before;
  };
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  std::size_t i = 0;
  const auto skip = [&](int value, std::uint64_t pattern) {
    while (i < count && differs(i) == value) {
      ++i;
      if (i < distance) continue;
      while (i + 8 <= count && word_at(i) == pattern) i += 8;
    }
  };
  while (true) {
    skip(0, 0);
    if (i == count) return;
    const std::size_t start = i;
    skip(1, kOnes);
    visit(start, i);
  }
}

}  // namespace

void write_mask(std::span<const std::uint8_t> mask, const Shape& shape, ByteWriter& to) {
  std::size_t best = 0;
  std::uint64_t fewest = UINT64_MAX;
  for (std::size_t predecessor = 0; predecessor < kPredecessors; ++predecessor) {
    const std::size_t distance = distance_of(predecessor, shape);
    if (predecessor != 0 && (distance == 0 || distance >= mask.size())) continue;
    std::uint64_t runs = 0;
    for_each_run(mask, distance, [&](std::size_t, std::size_t) { ++runs; });
    if (runs < fewest) {
      fewest = runs;
      best = predecessor;
    }
  }
  to.write_varint(best);
  to.write_varint(fewest);
  std::size_t at = 0;
  for_each_run(mask, distance_of(best, shape), [&](std::size_t start, std::size_t end) {
    to.write_varint(start - at);
    to.write_varint(end - start);
    at = end;
  });
}

Result<void> read_mask(ByteReader& from, const Shape& shape, std::span<std::uint8_t> mask) {
  TRY(const std::uint64_t predecessor, from.read_varint());
  if (predecessor >= kPredecessors) return corrupt("a mask has predecessor ", predecessor);
  const std::size_t distance = distance_of(static_cast<std::size_t>(predecessor), shape);
  if (predecessor != 0 && (distance == 0 || distance >= mask.size())) {
    return corrupt("a mask refers to rows that its chunk does not have");
  }
  TRY(const std::uint64_t runs, from.read_varint());
  if (runs > mask.size()) return corrupt("a mask of ", mask.size(), " has ", runs, " runs");
  std::ranges::fill(mask, std::uint8_t{0});
  std::size_t at = 0;
  for (std::uint64_t run = 0; run < runs; ++run) {
    TRY(const std::uint64_t gap, from.read_varint());
    if (gap > mask.size() - at) return corrupt("a run of a mask ends beyond its chunk");
    at += static_cast<std::size_t>(gap);
    TRY(const std::uint64_t length, from.read_varint());
    if (length > mask.size() - at) return corrupt("a run of a mask ends beyond its chunk");
    std::memset(mask.data() + at, 1, static_cast<std::size_t>(length));
    at += static_cast<std::size_t>(length);
  }
  if (distance != 0) {
    for (std::size_t i = distance; i < mask.size(); ++i) {
      mask[i] = static_cast<std::uint8_t>(mask[i] ^ mask[i - distance]);
    }
  }
  return {};
}

}  // namespace tensorpress::bounded
