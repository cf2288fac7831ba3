#include "stream/chunks/section_compressor.h"

#include <algorithm>
#include <deque>

#include "base/errors.h"
#include "stream/chunks/chunk_decoder.h"
#include "stream/chunks/chunk_work.h"
#include "stream/chunks/in_order.h"
#include "stream/chunks/section_reader.h"

namespace tensorpress::stream {

// A chunk on its way: the elements as read, and the section they become.
class SectionCompressor::Slot {
 public:
  explicit Slot(Isa isa) : workspace_(isa) {}

  Result<void> read(TensorSource& source, const Region& region, const ChunkHint* hint) {
    workspace_.origin = region.origin;
    workspace_.hint = hint;
    TRY(elements_, source.read(region, scratch_));
    return {};
  }

  /// In `place`, where that is large enough.
  void compress(const ChunkCodec& codec, std::uint64_t number, std::span<std::byte> place) {
    compressed_ = compress_section(codec, number, place);
  }

  const Result<CompressedChunk>& compressed() const { return compressed_; }
  std::span<const std::byte> section() const { return section_; }

 private:
  // The frame lies right before the payload, which is aligned to 64 bytes for the codec if it is
  // ours to place.
  Result<CompressedChunk> compress_section(const ChunkCodec& codec, std::uint64_t number,
                                           std::span<std::byte> place) {
    const std::uint64_t bound = codec.bound_on_output_size(elements_.shape, elements_.dtype);
    if (place.size() < section_bytes(bound)) {
      TRY(const auto room, try_reserve(output_, kFrameBytes + section_bytes(bound)));
      place = room.subspan(kFrameBytes);
    }
    workspace_.checksum.reset();
    const auto payload = place.subspan(kFrameBytes, static_cast<std::size_t>(bound));
    TRY(const auto chunk, codec.compress(elements_, payload, workspace_));
    ENSURE(chunk.bytes <= bound);
    section_ = place.first(static_cast<std::size_t>(section_bytes(chunk.bytes)));
    encode_frame(chunk_frame(number, chunk), workspace_.checksum.value(),
                 place.first<kFrameBytes>());
    std::ranges::fill(section_.last(padding_after(chunk.bytes)), std::byte{0});
    return chunk;
  }

  ChunkWorkspace workspace_;
  AlignedBuffer scratch_;
  AlignedBuffer output_;
  TensorView elements_;
  std::span<std::byte> section_;
  Result<CompressedChunk> compressed_ = CompressedChunk{};
};

struct SectionCompressor::Slots {
  std::deque<Slot> all;
};

SectionCompressor::SectionCompressor(const StreamPlan& plan, std::span<const ChunkHint> hints,
                                     TensorSource& source, Isa isa, Runner runner,
                                     std::size_t threads)
    : plan_(plan),
      hints_(hints),
      source_(source),
      isa_(isa),
      runner_(std::move(runner)),
      threads_(threads),
      slots_(std::make_unique<Slots>()) {}

SectionCompressor::~SectionCompressor() = default;

Result<void> SectionCompressor::compress(std::uint64_t first, std::uint64_t count, const Room& room,
                                         const Commit& commit) {
  if (count == 0) return {};
  const Shape largest = plan_.grid.region(0).extent;
  const std::uint64_t bytes_per_chunk =
      largest.element_count() * size_of(plan_.header.dtype) +
      plan_.codec->bound_on_output_size(largest, plan_.header.dtype);
  const std::size_t in_flight = chunks_in_flight(threads_, count, bytes_per_chunk);
  auto& slots = slots_->all;
  while (slots.size() < in_flight) slots.emplace_back(isa_);
  return in_order(
      count, slots, runner_,
      [&](Slot& slot, std::uint64_t i) {
        const std::uint64_t number = first + i;
        return slot.read(source_, plan_.grid.region(number),
                         hints_.empty() ? nullptr : &hints_[static_cast<std::size_t>(number)]);
      },
      [&](Slot& slot, std::uint64_t i) {
        // A chunk alone is the next to be appended and may be written where it will stay.
        slot.compress(*plan_.codec, first + i, slots.size() == 1 ? room() : std::span<std::byte>());
      },
      [&](Slot& slot, std::uint64_t i) -> Result<void> {
        TRY(const CompressedChunk chunk, slot.compressed());
        return commit(first + i, chunk, slot.section());
      });
}

}  // namespace tensorpress::stream
