// Chunks of a tensor become records of a stream, several at once: what one process writes its
// whole stream with, and what each of many processes writes its part with.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "stream/chunks/execution.h"
#include "stream/plan.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream {

class RecordCompressor {
 public:
  /// Memory for the next record, if there is a place where it may stay; else empty.
  using Room = std::function<std::span<std::byte>()>;
  /// Takes a complete record, before it is known whether it repeats one. Chunks come in ascending
  /// order, one at a time; the bytes are valid during the call.
  using Commit = std::function<Result<void>(std::uint64_t number, const CompressedChunk& chunk,
                                            std::span<const std::byte> record)>;

  /// `hints` are of every chunk or of none. What is passed by reference must outlive this.
  RecordCompressor(const StreamPlan& plan, std::span<const ChunkHint> hints, TensorSource& source,
                   const Execution& execution);
  ~RecordCompressor();
  RecordCompressor(const RecordCompressor&) = delete;
  RecordCompressor& operator=(const RecordCompressor&) = delete;

  /// The chunks from `first` on; may be called again with others.
  Result<void> compress(std::uint64_t first, std::uint64_t count, const Room& room,
                        const Commit& commit);

 private:
  class Slot;
  struct KeptSlots;

  const StreamPlan& plan_;
  std::span<const ChunkHint> hints_;
  TensorSource& source_;
  const Execution& execution_;
  std::unique_ptr<KeptSlots> slots_;  // between calls
};

}  // namespace tensorpress::stream
