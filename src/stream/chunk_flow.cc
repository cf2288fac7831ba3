#include "stream/chunk_flow.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/errors.h"
#include "stream/chunk_work.h"
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
    std::vector<std::unique_ptr<Slot>> slots(
        chunks_in_flight(options_.threads, count_, decoder_.working_bytes()));
    for (auto& slot : slots) {
      slot = std::make_unique<Slot>(isa);
      slot->workspace.method = options_.method;
    }
    for (std::uint64_t first = 0; first < count_; first += slots.size()) {
      const auto in_flight =
          static_cast<std::size_t>(std::min<std::uint64_t>(slots.size(), count_ - first));
      RETURN_IF_ERROR(decode_batch(std::span(slots).first(in_flight), first));
    }
    return {};
  }

 private:
  Result<void> decode_batch(std::span<const std::unique_ptr<Slot>> slots, std::uint64_t first) {
    bool lost = false;  // a later chunk cannot be found any more
    std::size_t fetched = 0;
    while (fetched < slots.size() && !lost) {
      Slot& slot = *slots[fetched];
      slot.outcome = fetch(slot, number_of_(first + fetched));
      lost = !slot.outcome.ok() && !feed_.survives_errors();
      ++fetched;
    }
    runner_(fetched, [&](std::size_t i) {
      Slot& slot = *slots[i];
      if (slot.outcome.ok()) slot.outcome = decode(slot, number_of_(first + i));
    });
    for (std::size_t i = 0; i < fetched; ++i) {
      const bool may_skip = !(lost && i + 1 == fetched);
      RETURN_IF_ERROR(deliver(*slots[i], number_of_(first + i), may_skip));
    }
    return {};
  }

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
