#include "stream/bounds/trial.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/errors.h"
#include "stream/chunks/chunk_work.h"
#include "stream/chunks/in_order.h"
#include "stream/container/format.h"

namespace tensorpress::stream {
namespace {

struct Slot {
  explicit Slot(Isa isa) : workspace(isa) {}
  ChunkWorkspace workspace;
  AlignedBuffer scratch, output;
  TensorView elements;
  Result<CompressedChunk> compressed = CompressedChunk{};
};

}  // namespace

Result<std::vector<Trial>> try_chunks(const ChunkCodec& codec, TensorSource& source,
                                      const ChunkGrid& grid, std::span<const std::uint64_t> chunks,
                                      const Runner& runner, std::size_t threads, Isa isa) {
  std::vector<Trial> trials;
  if (chunks.empty()) return trials;
  const std::uint64_t bytes_per_chunk =
      2 * grid.region(0).extent.element_count() * size_of(source.dtype());
  std::deque<Slot> slots;
  const std::size_t in_flight = chunks_in_flight(threads, chunks.size(), bytes_per_chunk);
  for (std::size_t i = 0; i < in_flight; ++i) slots.emplace_back(isa);
  RETURN_IF_ERROR(in_order(
      chunks.size(), slots, runner,
      [&](Slot& slot, std::uint64_t i) -> Result<void> {
        const Region region = grid.region(chunks[static_cast<std::size_t>(i)]);
        slot.workspace.origin = region.origin;
        TRY(slot.elements, source.read(region, slot.scratch));
        return {};
      },
      [&](Slot& slot, std::uint64_t) {
        const auto bound = codec.bound_on_output_size(slot.elements.shape, slot.elements.dtype);
        slot.workspace.checksum.reset();
        slot.compressed = codec.compress(
            slot.elements, slot.output.reserve(static_cast<std::size_t>(bound)), slot.workspace);
      },
      [&](Slot& slot, std::uint64_t) -> Result<void> {
        TRY(const CompressedChunk chunk, slot.compressed);
        trials.push_back({.elements = slot.elements.element_count() - chunk.special_elements,
                          .bytes_in = slot.elements.byte_count(),
                          .bytes_out = section_bytes(chunk.bytes),
                          .squared_error = chunk.squared_error});
        return {};
      }));
  return trials;
}

Result<Trial> run_trial(const ChunkCodec& codec, TensorSource& source, const ChunkGrid& grid,
                        std::span<const std::uint64_t> chunks, const Runner& runner,
                        std::size_t threads, Isa isa) {
  TRY(const auto trials, try_chunks(codec, source, grid, chunks, runner, threads, isa));
  Trial sum;
  for (const Trial& trial : trials) sum.add(trial);
  return sum;
}

std::vector<std::uint64_t> sample_chunks(const ChunkGrid& grid, DType dtype, std::uint64_t bytes) {
  const std::uint64_t count = grid.chunk_count();
  if (count == 0) return {};
  const std::uint64_t chunk_bytes = grid.region(0).extent.element_count() * size_of(dtype);
  const std::uint64_t wanted = std::clamp<std::uint64_t>(bytes / chunk_bytes, 1, count);
  std::vector<std::uint64_t> chunks;
  for (std::uint64_t i = 0; i < wanted; ++i) chunks.push_back((2 * i + 1) * count / (2 * wanted));
  return chunks;
}

std::vector<std::uint64_t> all_chunks(const ChunkGrid& grid) {
  std::vector<std::uint64_t> chunks(static_cast<std::size_t>(grid.chunk_count()));
  std::iota(chunks.begin(), chunks.end(), std::uint64_t{0});
  return chunks;
}

}  // namespace tensorpress::stream
