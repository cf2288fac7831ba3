#include "stream/bounds/trial.h"

#include <algorithm>
#include <numeric>

#include "base/errors.h"
#include "stream/chunks/for_chunks.h"
#include "stream/chunks/stream_guide.h"
#include "stream/plan.h"

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

Result<std::vector<ChunkTrial>> try_chunks(const ChunkCodec& codec, TensorSource& source,
                                           const ChunkGrid& grid,
                                           std::span<const std::uint64_t> chunks,
                                           const Execution& execution) {
  std::vector<ChunkTrial> trials;
  if (chunks.empty()) return trials;
  const std::uint64_t bytes_per_chunk =
      2 * grid.region(0).extent.element_count() * size_of(source.dtype());
  Slots<Slot> slots;
  StreamGuide guide;
  RETURN_IF_ERROR(for_chunks(
      ChunkNumbers::of(chunks), execution, bytes_per_chunk, slots,
      [&](Slot& slot, std::uint64_t number) -> Result<void> {
        const Region region = grid.region(number);
        slot.workspace.origin = region.origin;
        TRY(slot.elements, source.read(region, slot.scratch));
        Result<void> found;
        if (!guide.is_known()) {
          found = guide.find(codec, grid, source, number, slot.elements, slot.workspace);
        }
        slot.workspace.guide = guide.get();
        return found;
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
                          .outline = compact::ChunkOutline::of(
                              chunk, slot.output.reserve(static_cast<std::size_t>(chunk.bytes)))});
        return {};
      }));
  return trials;
}

Result<Trial> run_trial(const ChunkCodec& codec, TensorSource& source, const ChunkGrid& grid,
                        std::span<const std::uint64_t> chunks, const Execution& execution) {
  TRY(const auto trials, try_chunks(codec, source, grid, chunks, execution));
  return sum_of(trials);
}

Result<Trial> sum_of(std::span<const ChunkTrial> trials) {
  Trial sum;
  StreamTotals totals(0);
  for (const ChunkTrial& trial : trials) {
    sum.elements += trial.elements;
    sum.bytes_in += trial.bytes_in;
    sum.squared_error += trial.outline.chunk.squared_error;
    totals.add(trial.outline);
  }
  sum.bytes_out = totals.offset();
  TRY(const Closing closing, std::move(totals).close());
  sum.bytes_out += closing.bytes.size();
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
