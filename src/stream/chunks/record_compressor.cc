#include "stream/chunks/record_compressor.h"

#include <array>
#include <cstring>

#include "base/errors.h"
#include "stream/chunks/for_chunks.h"
#include "stream/chunks/stream_guide.h"
#include "stream/container/compact/record.h"
#include "stream/container/stream_input.h"

namespace tensorpress::stream {

using namespace compact;

// A chunk on its way: the elements as read, and the record they become.
class RecordCompressor::Slot {
 public:
  explicit Slot(Isa /*isa*/) {}

  Result<void> read(TensorSource& source, const Region& region, const ChunkHint* hint) {
    origin_ = region.origin;
    hint_ = hint;
    TRY(elements_, source.read(region, scratch_));
    return {};
  }

  const TensorView& elements() const { return elements_; }

  /// In `place`, where that is large enough.
  void compress(const ChunkCodec& codec, std::uint64_t number, std::span<std::byte> place,
                ChunkWorkspace& workspace) {
    workspace.origin = origin_;
    workspace.hint = hint_;
    compressed_ = compress_record(codec, number, place, workspace);
  }

  const Result<CompressedChunk>& compressed() const { return compressed_; }
  std::span<const std::byte> record() const { return record_; }

 private:
  Result<CompressedChunk> compress_record(const ChunkCodec& codec, std::uint64_t number,
                                          std::span<std::byte> place, ChunkWorkspace& workspace) {
    const std::uint64_t bound = codec.bound_on_output_size(elements_.shape, elements_.dtype);
    const bool in_place = place.size() >= kMaxRecordHeadBytes + bound + kChecksumRoom;
    // How large the head will be is a guess. In memory of our own it may begin anywhere, and the
    // payload is aligned for the codec.
    std::size_t head = kAlignedHead;
    if (in_place) {
      const std::uint64_t expected = codec.expected_output_size(elements_.shape, elements_.dtype);
      head = Record::coded(expected != 0 ? expected : bound / 8).head_bytes();
    } else {
      TRY(place, try_reserve(output_, kAlignedHead + bound + kChecksumRoom));
    }
    workspace.checksum.reset();
    const auto payload = place.subspan(head, static_cast<std::size_t>(bound));
    TRY(const auto chunk, codec.compress(elements_, payload, workspace));
    ENSURE(chunk.bytes <= bound);
    const Record record = Record::of(chunk);
    if (in_place && record.head_bytes() != head) {
      std::memmove(place.data() + record.head_bytes(), payload.data(),
                   static_cast<std::size_t>(chunk.bytes));
      head = record.head_bytes();
    }
    record_ = place.subspan(head - record.head_bytes(), static_cast<std::size_t>(record.size()));
    complete_record(record, number, workspace.checksum.value(), record_);
    return chunk;
  }

  static constexpr std::size_t kAlignedHead = 64;
  static constexpr std::size_t kChecksumRoom = 8;

  std::array<std::uint64_t, kMaxRank> origin_{};
  const ChunkHint* hint_ = nullptr;
  AlignedBuffer scratch_;
  AlignedBuffer output_;
  TensorView elements_;
  std::span<std::byte> record_;
  Result<CompressedChunk> compressed_ = CompressedChunk{};
};

struct RecordCompressor::KeptSlots {
  explicit KeptSlots(Isa isa) : workspaces(isa, false) {}

  Slots<Slot> all;
  WorkspacePool workspaces;  // one a thread, fewer than slots
  StreamGuide guide;
};

RecordCompressor::RecordCompressor(const StreamPlan& plan, std::span<const ChunkHint> hints,
                                   TensorSource& source, const Execution& execution)
    : plan_(plan),
      hints_(hints),
      source_(source),
      execution_(execution),
      slots_(std::make_unique<KeptSlots>(execution.isa)) {}

RecordCompressor::~RecordCompressor() = default;

Result<void> RecordCompressor::compress(std::uint64_t first, std::uint64_t count, const Room& room,
                                        const Commit& commit) {
  if (count == 0) return {};
  const Shape largest = plan_.grid.region(0).extent;
  const std::uint64_t bytes_per_chunk =
      largest.element_count() * size_of(plan_.header.dtype) +
      plan_.codec->bound_on_output_size(largest, plan_.header.dtype);
  auto& slots = slots_->all;
  return for_chunks(
      ChunkNumbers::range(first, count), execution_, bytes_per_chunk, slots,
      [&](Slot& slot, std::uint64_t number) -> Result<void> {
        const auto hint_of = [&](std::uint64_t chunk) {
          return hints_.empty() ? nullptr : &hints_[static_cast<std::size_t>(chunk)];
        };
        RETURN_IF_ERROR(slot.read(source_, plan_.grid.region(number), hint_of(number)));
        if (slots_->guide.is_known()) return {};
        WorkspacePool::Loan workspace(slots_->workspaces);
        (*workspace).hint = hint_of(0);
        return slots_->guide.find(*plan_.codec, plan_.grid, source_, number, slot.elements(),
                                  *workspace);
      },
      [&](Slot& slot, std::uint64_t number) {
        // A chunk alone is the next to be appended and may be written where it will stay.
        WorkspacePool::Loan workspace(slots_->workspaces);
        (*workspace).guide = slots_->guide.get();
        slot.compress(*plan_.codec, number, slots.size() == 1 ? room() : std::span<std::byte>(),
                      *workspace);
      },
      [&](Slot& slot, std::uint64_t number) -> Result<void> {
        TRY(const CompressedChunk chunk, slot.compressed());
        return commit(number, chunk, slot.record());
      });
}

}  // namespace tensorpress::stream
