#include "stream/writer.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "base/errors.h"
#include "stream/chunk_decoder.h"
#include "stream/chunk_work.h"
#include "stream/in_order.h"
#include "stream/plan.h"
#include "stream/resolve.h"
#include "stream/section_reader.h"

namespace tensorpress::stream {
namespace {

// A chunk on its way: the elements as read, and the section they become.
class Slot {
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

Result<void> check_order(const TensorSource& source, const ChunkGrid& grid) {
  if (source.random_access() || grid.is_sequential()) return {};
  // About as many elements, cut along the slow axes only.
  Shape suggestion = grid.chunk_shape();
  std::uint64_t budget = suggestion.element_count();
  for (std::size_t axis = suggestion.rank(); axis-- > 0;) {
    suggestion[axis] = std::clamp<std::uint64_t>(budget, 1, grid.shape()[axis]);
    budget = suggestion[axis] < grid.shape()[axis] ? 1 : budget / suggestion[axis];
  }
  return bad_argument("a pipe gives its elements in order, but chunks of shape ",
                      grid.chunk_shape().to_string(),
                      " need them out of order; use a file, or chunks of whole rows such as ",
                      suggestion.to_string());
}

class Writer {
 public:
  Writer(StreamPlan plan, std::vector<ChunkHint> hints, TensorSource& source, ByteSink& sink,
         const WriteOptions& options)
      : plan_(std::move(plan)),
        hints_(std::move(hints)),
        source_(source),
        sink_(sink),
        options_(options),
        runner_(runner_or_threads(options.runner, options.threads)),
        totals_(plan_.opening.size()) {}

  Result<StreamInfo> write(Isa isa) {
    RETURN_IF_ERROR(check_order(source_, plan_.grid));
    RETURN_IF_ERROR(sink_.append(plan_.opening));
    if (plan_.grid.chunk_count() > 0) RETURN_IF_ERROR(write_chunks(isa));
    return finish();
  }

 private:
  Result<void> write_chunks(Isa isa) {
    const std::uint64_t count = plan_.grid.chunk_count();
    const Shape largest = plan_.grid.region(0).extent;
    const std::uint64_t bytes_per_chunk =
        largest.element_count() * size_of(plan_.header.dtype) +
        plan_.codec->bound_on_output_size(largest, plan_.header.dtype);
    std::deque<Slot> slots;
    const std::size_t in_flight = chunks_in_flight(options_.threads, count, bytes_per_chunk);
    for (std::size_t i = 0; i < in_flight; ++i) slots.emplace_back(isa);
    return in_order(
        count, slots, runner_,
        [&](Slot& slot, std::uint64_t number) {
          return slot.read(source_, plan_.grid.region(number), hint(number));
        },
        [&](Slot& slot, std::uint64_t number) {
          // A chunk alone is the next to be appended and may be written where it will stay.
          slot.compress(*plan_.codec, number,
                        slots.size() == 1 ? sink_.room() : std::span<std::byte>());
        },
        [&](Slot& slot, std::uint64_t number) { return append(slot, number); });
  }

  const ChunkHint* hint(std::uint64_t number) const {
    return hints_.empty() ? nullptr : &hints_[static_cast<std::size_t>(number)];
  }

  Result<void> append(const Slot& slot, std::uint64_t number) {
    const auto& compressed = slot.compressed();
    if (!compressed.ok()) return compressed.error();
    RETURN_IF_ERROR(sink_.append(slot.section()));
    totals_.add(*compressed);
    elements_done_ += plan_.grid.region(number).extent.element_count();
    if (options_.progress) options_.progress(elements_done_, plan_.grid.shape().element_count());
    return {};
  }

  Result<StreamInfo> finish() {
    const std::uint64_t offset = totals_.offset();
    const std::uint64_t payload_bytes = totals_.payload_bytes();
    Footer footer = std::move(totals_).footer();
    TRY(const auto closing, encode_closing(footer, offset));
    RETURN_IF_ERROR(sink_.append(closing));
    StreamInfo info = info_of(plan_.header, plan_.grid);
    info.attributes = options_.attributes;
    info.statistics = std::move(footer.statistics);
    info.bytes_out = offset + closing.size();
    info.payload_bytes = payload_bytes;
    return info;
  }

  StreamPlan plan_;
  std::vector<ChunkHint> hints_;  // of every chunk, or none
  TensorSource& source_;
  ByteSink& sink_;
  const WriteOptions& options_;
  Runner runner_;
  StreamTotals totals_;
  std::uint64_t elements_done_ = 0;
};

}  // namespace

Result<StreamInfo> write_stream(const Codec& codec, TensorSource& source, ByteSink& sink,
                                const WriteOptions& options) {
  TRY(const Isa isa, active_isa());
  TRY(auto resolved, resolve_codec(codec, source, options, isa));
  TRY(auto plan, plan_stream(resolved.codec, source.dtype(), source.shape(), options.chunk_shape,
                             options.attributes));
  return Writer(std::move(plan), std::move(resolved.hints), source, sink, options).write(isa);
}

}  // namespace tensorpress::stream
