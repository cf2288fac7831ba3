// The one interface between codecs and the container: a codec with its parameters fixed, working on
// one chunk at a time. Immutable, so any number of threads may share one; what a call needs to
// scratch on comes with the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cpu.h"
#include "codecs/workspace_memory.h"
#include "kernels/checksum/checksum.h"
#include "tensorpress/codec.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress {

/// What a first look at a chunk's values found (kernels/value_scan), so that a codec need not look
/// again. -0 counts as 0.
struct ChunkHint {
  double min = 0;  // of ordinary values; above max when there are none
  double max = 0;
  std::uint64_t specials = 0;  // NaN, infinite and fill values
  bool zeros = false;
};

/// What a codec learned from one chunk of a stream that spares it work on the others.
struct ChunkGuide {
  virtual ~ChunkGuide() = default;
};

/// One thread's memory for the duration of a stream.
struct ChunkWorkspace {
  explicit ChunkWorkspace(Isa use) : isa(use), checksum(use) {}

  Isa isa;
  /// Write large results past the cache; for outputs that exceed it.
  bool stream_stores = false;
  /// How a decoder is to compute, where it has a choice ("form" "matmul"); its fast way when
  /// absent.
  std::span<const Parameter> method;
  /// Of the chunk that is compressed, when there was a first look.
  const ChunkHint* hint = nullptr;
  /// Of the stream that the chunk is compressed for: what `ChunkCodec::guide` made of its first
  /// chunk, whatever chunk this is.
  const ChunkGuide* guide = nullptr;
  /// Where the chunk lies in the tensor, for messages.
  std::array<std::uint64_t, kMaxRank> origin{};
  /// Fed with the chunk's payload bytes, in order, by the codec. The caller
  /// resets it.
  Checksum checksum;
  /// The named buffers of the codecs that worked here.
  WorkspaceMemory memory;
};

struct CompressedChunk {
  std::uint64_t bytes = 0;
  bool raw = false;          // the payload is the elements themselves, little-endian, in C order
  double squared_error = 0;  // sum over the chunk's elements, an upper bound in the output type
  std::uint64_t special_elements = 0;  // NaN, infinite or fill values: exact and not in the error
};

class ChunkCodec {
 public:
  virtual ~ChunkCodec() = default;

  /// The chunk shape this codec likes for such a tensor.
  virtual Shape preferred_chunk_shape(const Shape& shape, DType dtype) const = 0;
  /// Never smaller than what compress writes, for any data.
  virtual std::uint64_t bound_on_output_size(const Shape& chunk_shape, DType dtype) const = 0;
  /// What compress writes for ordinary data when that is known beforehand (fixed-rate codecs), else
  /// 0.
  virtual std::uint64_t expected_output_size(const Shape& chunk_shape, DType dtype) const = 0;

  /// `output` has expected_output_size or bound_on_output_size bytes; nothing is written beyond it.
  /// If the result does not fit, its size is returned and the contents are of no use.
  virtual Result<CompressedChunk> compress(const TensorView& chunk, std::span<std::byte> output,
                                           ChunkWorkspace& workspace) const = 0;
  /// `input` is what compress wrote, or hostile bytes of any length.
  virtual Result<void> decompress(std::span<const std::byte> input, const MutableTensorView& chunk,
                                  ChunkWorkspace& workspace) const = 0;

  /// What compress is to be guided by in a stream of many chunks; nothing for codecs that choose
  /// little. Depends on the chunk and its hint alone.
  virtual std::shared_ptr<const ChunkGuide> guide(const TensorView& /*first_chunk*/,
                                                  ChunkWorkspace& /*workspace*/) const {
    return nullptr;
  }

  virtual std::vector<Fact> facts(const Shape& shape, DType dtype) const = 0;

  /// Of an error-bounded codec whose bound has been resolved.
  virtual std::optional<KeptBound> kept_bound() const { return std::nullopt; }
  /// The same codec with this bound; nothing for codecs that keep none.
  virtual std::unique_ptr<ChunkCodec> keeping(const KeptBound& /*bound*/) const { return nullptr; }
};

/// Elements as they are: what any codec falls back to. Little-endian, C order; feeds the checksum.
CompressedChunk compress_raw(const TensorView& chunk, std::span<std::byte> output,
                             ChunkWorkspace& workspace);
Result<void> decompress_raw(std::span<const std::byte> input, const MutableTensorView& chunk,
                            ChunkWorkspace& workspace);

}  // namespace tensorpress
