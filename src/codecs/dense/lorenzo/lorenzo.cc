#include "codecs/dense/lorenzo/lorenzo.h"

#include <algorithm>

namespace tensorpress::dense {

Shape chunk_shape_of(const Shape& shape, std::uint64_t most_values) {
  Shape chunk = shape;
  std::uint64_t room = most_values;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const std::uint64_t extent = std::max<std::uint64_t>(shape[axis], 1);
    // Equal parts, so that the last one is not a sliver.
    const std::uint64_t parts = (extent + room - 1) / room;
    chunk[axis] = (extent + parts - 1) / parts;
    room = parts > 1 ? 1 : room / extent;
  }
  return chunk;
}

}  // namespace tensorpress::dense
