// Chunks of a tensor become sections of a stream, several at once: what one process writes its
// whole stream with, and what each of many processes writes its part with.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "stream/plan.h"
#include "stream/tensor_io.h"
#include "tensorpress/parallel.h"

namespace tensorpress::stream {

class SectionCompressor {
 public:
  /// Memory for the next section, if there is a place where it may stay; else empty.
  using Room = std::function<std::span<std::byte>()>;
  /// Takes a complete section: frame, payload and padding. Chunks come in ascending order, one at a
  /// time; the bytes are valid during the call.
  using Commit = std::function<Result<void>(std::uint64_t number, const CompressedChunk& chunk,
                                            std::span<const std::byte> section)>;

  /// `hints` are of every chunk or of none. What is passed by reference must outlive this.
  SectionCompressor(const StreamPlan& plan, std::span<const ChunkHint> hints, TensorSource& source,
                    Isa isa, Runner runner, std::size_t threads);
  ~SectionCompressor();
  SectionCompressor(const SectionCompressor&) = delete;
  SectionCompressor& operator=(const SectionCompressor&) = delete;

  /// The chunks from `first` on; may be called again with others.
  Result<void> compress(std::uint64_t first, std::uint64_t count, const Room& room,
                        const Commit& commit);

 private:
  class Slot;
  struct Slots;  // kept between calls

  const StreamPlan& plan_;
  std::span<const ChunkHint> hints_;
  TensorSource& source_;
  Isa isa_;
  Runner runner_;
  std::size_t threads_;
  std::unique_ptr<Slots> slots_;
};

}  // namespace tensorpress::stream
