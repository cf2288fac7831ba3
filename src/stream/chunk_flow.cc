#include "stream/chunk_flow.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "base/errors.h"
#include "stream/chunk_work.h"
#include "stream/in_order.h"
#include "stream/section_reader.h"

namespace tensorpress::stream {
namespace {

struct Slot {
  explicit Slot(Isa isa) : workspace(isa) {}

  ChunkWorkspace workspace;
  AlignedBuffer payload;
  AlignedBuffer elements;
  FetchedChunk fetched;
  MutableTensorView output;
  Result<void> outcome;
  bool lost = false;  // neither this chunk nor a later one can be found
};

class Flow {
 public:
  /// `number_of(i)` is the i-th chunk to decode, of `count`.
  Flow(const ChunkDecoder& decoder, ChunkFeed& feed, std::uint64_t count,
       std::function<std::uint64_t(std::uint64_t)> number_of, std::uint64_t elements,
       TensorSink& sink, const ReadOptions& options)
      : decoder_(decoder),
        feed_(feed),
        count_(count),
        number_of_(std::move(number_of)),
        elements_(elements),
        sink_(sink),
        options_(options),
        runner_(runner_or_threads(options.runner, options.threads)) {}

  Result<void> run(Isa isa) {
    std::deque<Slot> slots;
    const std::size_t in_flight =
        chunks_in_flight(options_.threads, count_, decoder_.working_bytes());
    for (std::size_t i = 0; i < in_flight; ++i) {
      slots.emplace_back(isa);
      slots.back().workspace.method = options_.method;
    }
    return in_order(
        count_, slots, runner_,
        [&](Slot& slot, std::uint64_t i) -> Result<void> {
          // Its error is never seen: that of the chunk before comes first.
          if (lost_) return corrupt("chunk ", number_of_(i), " comes after one that is lost");
          slot.outcome = fetch(slot, number_of_(i));
          slot.lost = lost_ = !slot.outcome.ok() && !feed_.survives_errors();
          return {};
        },
        [&](Slot& slot, std::uint64_t i) {
          if (slot.outcome.ok()) slot.outcome = decode(slot, number_of_(i));
        },
        [&](Slot& slot, std::uint64_t i) { return deliver(slot, number_of_(i), !slot.lost); });
  }

 private:
  Result<void> fetch(Slot& slot, std::uint64_t number) {
    TRY(slot.fetched, feed_.fetch(number, slot.payload));
    return {};
  }

  Result<void> decode(Slot& slot, std::uint64_t number) {
    RETURN_IF_ERROR(make_room(slot, number));
    return decoder_.decode(number, slot.fetched.frame, slot.fetched.payload, slot.output,
                           slot.workspace);
  }

  Result<void> make_room(Slot& slot, std::uint64_t number) {
    const Shape extent = decoder_.grid().region(number).extent;
    TRY(const auto room,
        try_reserve(slot.elements, extent.element_count() * size_of(decoder_.dtype())));
    slot.output = MutableTensorView::contiguous(room.data(), decoder_.dtype(), extent);
    return {};
  }

  Result<void> deliver(Slot& slot, std::uint64_t number, bool may_skip) {
    if (!slot.outcome.ok()) {
      if (!options_.skip_corrupt || !may_skip) return slot.outcome;
      options_.skip_corrupt(number, slot.outcome.error());
      RETURN_IF_ERROR(make_room(slot, number));
      std::fill_n(slot.output.data, slot.output.byte_count(), std::byte{0});
    }
    const Region region = decoder_.grid().region(number);
    RETURN_IF_ERROR(sink_.write(region, slot.output));
    elements_done_ += region.extent.element_count();
    if (options_.progress) options_.progress(elements_done_, elements_);
    return {};
  }

  const ChunkDecoder& decoder_;
  ChunkFeed& feed_;
  std::uint64_t count_;
  std::function<std::uint64_t(std::uint64_t)> number_of_;
  std::uint64_t elements_;
  TensorSink& sink_;
  const ReadOptions& options_;
  Runner runner_;
  std::uint64_t elements_done_ = 0;
  bool lost_ = false;
};

}  // namespace

Result<void> decode_in_order(const ChunkDecoder& decoder, ChunkFeed& feed, TensorSink& sink,
                             const ReadOptions& options) {
  if (decoder.grid().chunk_count() == 0) return {};
  TRY(const Isa isa, active_isa());
  const ChunkGrid& grid = decoder.grid();
  return Flow(
             decoder, feed, grid.chunk_count(), [](std::uint64_t i) { return i; },
             grid.shape().element_count(), sink, options)
      .run(isa);
}

Result<void> decode_in_order(const ChunkDecoder& decoder, ChunkFeed& feed,
                             std::span<const std::uint64_t> numbers, TensorSink& sink,
                             const ReadOptions& options) {
  if (numbers.empty()) return {};
  TRY(const Isa isa, active_isa());
  std::uint64_t elements = 0;
  for (const std::uint64_t number : numbers) {
    elements += decoder.grid().region(number).extent.element_count();
  }
  return Flow(
             decoder, feed, numbers.size(),
             [numbers](std::uint64_t i) { return numbers[static_cast<std::size_t>(i)]; }, elements,
             sink, options)
      .run(isa);
}

}  // namespace tensorpress::stream
