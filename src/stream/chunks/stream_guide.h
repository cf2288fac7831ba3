// What the first chunk of a stream spares the others (ChunkCodec::guide). It is the same for every
// number of threads and for every rank that compresses some of the chunks.
#pragma once

#include <cstdint>
#include <memory>

#include "codecs/chunk_codec.h"
#include "stream/chunks/chunk_grid.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream {

class StreamGuide {
 public:
  bool is_known() const { return known_; }
  /// Nothing until it is known, and for codecs and streams that have none.
  const ChunkGuide* get() const { return guide_.get(); }

  /// `elements` are those of chunk `number`, the first one that was read: others than chunk 0 only
  /// from a source of random access. `workspace.hint` is that of chunk 0.
  Result<void> find(const ChunkCodec& codec, const ChunkGrid& grid, TensorSource& source,
                    std::uint64_t number, const TensorView& elements, ChunkWorkspace& workspace) {
    known_ = true;
    if (grid.chunk_count() < 2) return {};
    if (number == 0) {
      guide_ = codec.guide(elements, workspace);
      return {};
    }
    AlignedBuffer scratch;
    TRY(const TensorView first, source.read(grid.region(0), scratch));
    guide_ = codec.guide(first, workspace);
    return {};
  }

 private:
  bool known_ = false;
  std::shared_ptr<const ChunkGuide> guide_;
};

}  // namespace tensorpress::stream
