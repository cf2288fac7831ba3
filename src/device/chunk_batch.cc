#include "device/chunk_batch.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::device {

// Values of one chunk that 32 bits of bytes can count, with room to spare.
constexpr std::uint64_t kMostChunkValues = std::uint64_t{1} << 28;

std::optional<std::uint64_t> first_element_if_consecutive(const Shape& shape, const Region& chunk) {
  bool cut = false;  // an axis before has more than one element
  std::uint64_t first = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (cut && chunk.extent[axis] != shape[axis]) return std::nullopt;
    cut = cut || chunk.extent[axis] > 1;
    first = first * shape[axis] + chunk.origin[axis];
  }
  return first;
}

ChunkBatch ChunkBatch::of(const stream::ChunkGrid& grid, DType dtype, std::uint64_t first,
                          std::uint64_t most_bytes, std::uint32_t tile_values) {
  ChunkBatch batch{.first_chunk = first};
  for (std::uint64_t number = first; number < grid.chunk_count(); ++number) {
    const Region region = grid.region(number);
    const std::uint64_t count = region.extent.element_count();
    if (number > first && (batch.values + count) * size_of(dtype) > most_bytes) break;
    const auto start = first_element_if_consecutive(grid.shape(), region);
    const bool taken = start && count <= kMostChunkValues;
    batch.values += count;
    batch.origins.push_back(region.origin);
    batch.extents.push_back(region.extent);
    batch.places.push_back({.first = start.value_or(0),
                            .payload = 0,
                            .count = taken ? static_cast<std::uint32_t>(count) : 0,
                            .first_tile = batch.tiles(),
                            .kind = taken ? CHUNK_CODED : CHUNK_LEFT,
                            .detail = 0,
                            .payload_bytes = 0,
                            .reserved = 0});
    const std::uint64_t tiles = taken ? (count + tile_values - 1) / tile_values : 0;
    batch.chunk_of_tile.insert(batch.chunk_of_tile.end(), static_cast<std::size_t>(tiles),
                               static_cast<std::uint32_t>(number - first));
  }
  return batch;
}

Result<BatchTables> BatchTables::upload(Backend& backend, const ChunkBatch& batch) {
  BatchTables tables;
  TRY(tables.places, backend.allocate(batch.places.size() * sizeof(ChunkPlace)));
  TRY(tables.chunk_of_tile, backend.allocate(batch.chunk_of_tile.size() * sizeof(std::uint32_t)));
  RETURN_IF_ERROR(backend.upload_all(std::span(batch.places), tables.places));
  RETURN_IF_ERROR(backend.upload_all(std::span(batch.chunk_of_tile), tables.chunk_of_tile));
  return tables;
}

std::uint64_t batch_bytes(const Backend& backend) {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  return std::clamp<std::uint64_t>(backend.info().memory_bytes / 8, std::uint64_t{1} << 20, kMost);
}

}  // namespace tensorpress::device
