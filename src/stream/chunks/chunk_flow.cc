#include "stream/chunks/chunk_flow.h"

#include <cstring>

#include "base/errors.h"
#include "base/tensor/elements.h"
#include "stream/container/stream_input.h"

namespace tensorpress::stream {
namespace {

struct Slot {
  explicit Slot(Isa /*isa*/) {}

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
  Flow(const ChunkDecoder& decoder, ChunkFeed& feed, const ChunkNumbers& numbers, TensorSink& sink,
       const DecompressOptions& options)
      : decoder_(decoder), feed_(feed), numbers_(numbers), sink_(sink), options_(options) {
    if (numbers.size() == decoder.grid().chunk_count()) {
      // All of them, of which a hostile stream may claim more than can be counted.
      elements_ = decoder.grid().shape().element_count();
      return;
    }
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      elements_ += decoder.grid().region(numbers[i]).extent.element_count();
    }
  }

  Result<void> run(const Execution& execution) {
    Slots<Slot> slots;
    WorkspacePool workspaces(execution.isa, false);  // one a thread, fewer than slots
    return for_chunks(
        numbers_, execution, decoder_.working_bytes(), slots,
        [&](Slot& slot, std::uint64_t number) -> Result<void> {
          // Its error is never seen: that of the chunk before comes first.
          if (lost_) return corrupt("chunk ", number, " comes after one that is lost");
          slot.outcome = fetch(slot, number);
          slot.lost = lost_ = !slot.outcome.ok() && !feed_.survives_errors();
          return {};
        },
        [&](Slot& slot, std::uint64_t number) {
          if (!slot.outcome.ok()) return;
          WorkspacePool::Loan workspace(workspaces);
          slot.outcome = decode(slot, number, *workspace);
        },
        [&](Slot& slot, std::uint64_t number) { return deliver(slot, number, !slot.lost); });
  }

 private:
  Result<void> fetch(Slot& slot, std::uint64_t number) {
    TRY(slot.fetched, feed_.fetch(number, slot.payload));
    return {};
  }

  Result<void> decode(Slot& slot, std::uint64_t number, ChunkWorkspace& workspace) {
    RETURN_IF_ERROR(make_room(slot, number));
    workspace.method = options_.method;
    return decoder_.decode(number, slot.fetched, slot.output, workspace);
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
  ChunkNumbers numbers_;
  TensorSink& sink_;
  const DecompressOptions& options_;
  std::uint64_t elements_ = 0;
  std::uint64_t elements_done_ = 0;
  bool lost_ = false;
};

}  // namespace

Result<void> decode_in_order(const ChunkDecoder& decoder, ChunkFeed& feed,
                             const ChunkNumbers& numbers, TensorSink& sink,
                             const DecompressOptions& options) {
  if (numbers.size() == 0) return {};
  TRY(const Execution execution, Execution::of(options));
  return Flow(decoder, feed, numbers, sink, options).run(execution);
}

}  // namespace tensorpress::stream
