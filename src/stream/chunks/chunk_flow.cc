#include "stream/chunks/chunk_flow.h"

#include <cstring>
#include <deque>
#include <vector>

#include "base/elements.h"
#include "base/errors.h"
#include "stream/chunks/chunk_work.h"
#include "stream/chunks/in_order.h"
#include "stream/chunks/section_reader.h"

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

template <class T>
void fill_with(T element, const MutableTensorView& output) {
  std::byte* at = output.data;
  for (std::uint64_t left = output.element_count(); left > 0; --left, at += sizeof element) {
    std::memcpy(at, &element, sizeof element);
  }
}

/// Every element of a contiguous view.
void fill(double value, const MutableTensorView& output) {
  switch (output.dtype) {
    case DType::f32:
      return fill_with(narrowed(value), output);
    case DType::f64:
      return fill_with(value, output);
    case DType::f16:
      return fill_with(float_to_f16(narrowed(value)), output);
    case DType::bf16:
      return fill_with(float_to_bf16(narrowed(value)), output);
    case DType::u8:
      return fill_with(static_cast<std::uint8_t>(value), output);
    case DType::i16:
      return fill_with(static_cast<std::int16_t>(value), output);
  }
}

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
    const Region region = decoder_.grid().region(number);
    if (!slot.outcome.ok()) {
      if (!options_.skip_corrupt || !may_skip) return slot.outcome;
      options_.skip_corrupt({.number = number,
                             .region = region,
                             .value = decoder_.missing_value(),
                             .error = slot.outcome.error()});
      RETURN_IF_ERROR(make_room(slot, number));
      fill(decoder_.missing_value(), slot.output);
    }
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
