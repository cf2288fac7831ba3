// Some consecutive chunks of a tensor on a device: where each lies, and how their values are cut
// into the tiles that groups of threads work on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/backend.h"
#include "device/kernels/language.h"
// (language before chunks)
#include "device/kernels/chunks.h"
#include "stream/chunks/chunk_grid.h"

namespace tensorpress::device {

inline constexpr std::uint32_t kTileValues = 8192;

/// Whether a chunk is one range of consecutive elements of the tensor, and where it begins.
std::optional<std::uint64_t> first_element_if_consecutive(const Shape& shape, const Region& chunk);

struct ChunkBatch {
  std::uint64_t first_chunk = 0;
  std::vector<ChunkPlace> places = {};
  std::vector<std::array<std::uint64_t, kMaxRank>> origins = {};
  std::vector<Shape> extents = {};
  std::vector<std::uint32_t> chunk_of_tile = {};
  std::uint64_t values = 0;  // of all of them

  /// The chunks from `first` on, as many as have `most_bytes`; at least one. A chunk that no kernel
  /// can take is CHUNK_LEFT.
  static ChunkBatch of(const stream::ChunkGrid& grid, DType dtype, std::uint64_t first,
                       std::uint64_t most_bytes, std::uint32_t tile_values = kTileValues);
  std::uint32_t tiles() const { return static_cast<std::uint32_t>(chunk_of_tile.size()); }
};

/// A batch's tables on the device.
struct BatchTables {
  Buffer places;
  Buffer chunk_of_tile;

  static Result<BatchTables> upload(Backend& backend, const ChunkBatch& batch);
};

/// How many bytes of values a batch may have: a part of the device's memory, and what 32 bits
/// count.
std::uint64_t batch_bytes(const Backend& backend);

}  // namespace tensorpress::device
