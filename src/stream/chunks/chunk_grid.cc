#include "stream/chunks/chunk_grid.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::stream {

Result<ChunkGrid> ChunkGrid::make(const Shape& shape, const Shape& chunk_shape) {
  if (shape.rank() != chunk_shape.rank()) {
    return bad_argument("chunks of shape ", chunk_shape.to_string(),
                        " do not fit a tensor of shape ", shape.to_string(),
                        ": give one extent for each of its ", shape.rank(), " axes");
  }
  ChunkGrid grid;
  TRY(grid.shape_, Shape::make(shape.extents()));
  TRY(grid.chunk_shape_, Shape::make(chunk_shape.extents()));
  grid.counts_ = grid.shape_;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (chunk_shape[axis] == 0) {
      return bad_argument("chunks of shape ", chunk_shape.to_string(),
                          " are empty; every extent must be at least 1");
    }
    grid.counts_[axis] =
        shape[axis] / chunk_shape[axis] + (shape[axis] % chunk_shape[axis] != 0 ? 1 : 0);
  }
  grid.chunk_count_ = grid.counts_.element_count();
  return grid;
}

Region ChunkGrid::region(std::uint64_t number) const {
  Region region{{}, chunk_shape_};
  for (std::size_t axis = shape_.rank(); axis-- > 0;) {
    const std::uint64_t start = number % counts_[axis] * chunk_shape_[axis];
    number /= counts_[axis];
    region.origin[axis] = start;
    region.extent[axis] = std::min(chunk_shape_[axis], shape_[axis] - start);
  }
  return region;
}

std::vector<std::uint64_t> ChunkGrid::chunks_in(const Region& part) const {
  if (part.extent.element_count() == 0) return {};
  std::vector<std::uint64_t> numbers = {0};
  for (std::size_t axis = 0; axis < shape_.rank(); ++axis) {
    const std::uint64_t first = part.origin[axis] / chunk_shape_[axis];
    const std::uint64_t last = (part.origin[axis] + part.extent[axis] - 1) / chunk_shape_[axis];
    std::vector<std::uint64_t> finer;
    finer.reserve(numbers.size() * static_cast<std::size_t>(last - first + 1));
    for (const std::uint64_t number : numbers) {
      for (std::uint64_t i = first; i <= last; ++i) finer.push_back(number * counts_[axis] + i);
    }
    numbers = std::move(finer);
  }
  return numbers;
}

bool ChunkGrid::is_sequential() const {
  if (chunk_count_ <= 1) return true;
  // Slow axes one at a time, then one axis in pieces, then all of the fast ones.
  std::size_t axis = 0;
  while (axis < shape_.rank() && std::min(chunk_shape_[axis], shape_[axis]) == 1) ++axis;
  for (++axis; axis < shape_.rank(); ++axis) {
    if (counts_[axis] != 1) return false;
  }
  return true;
}

}  // namespace tensorpress::stream
