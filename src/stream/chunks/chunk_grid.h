// A tensor cut into a grid of chunks of one shape, smaller at the far edges, numbered in C order.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorpress/tensor_view.h"

namespace tensorpress::stream {

class ChunkGrid {
 public:
  /// Both of one rank; every chunk extent at least 1. An empty tensor has no chunks, a 0-D one has
  /// one.
  static Result<ChunkGrid> make(const Shape& shape, const Shape& chunk_shape);

  std::uint64_t chunk_count() const { return chunk_count_; }
  Region region(std::uint64_t number) const;
  /// The chunks that share elements with `part`, ascending.
  std::vector<std::uint64_t> chunks_in(const Region& part) const;
  /// True when every chunk is one contiguous range of a C-order tensor and they follow each other
  /// in order.
  bool is_sequential() const;
  const Shape& shape() const { return shape_; }
  const Shape& chunk_shape() const { return chunk_shape_; }

 private:
  Shape shape_;
  Shape chunk_shape_;
  Shape counts_;
  std::uint64_t chunk_count_ = 0;
};

}  // namespace tensorpress::stream
