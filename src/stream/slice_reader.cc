#include "stream/slice_reader.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::stream {
namespace {

struct Indices {
  std::uint64_t begin = 0, end = 0;
};

/// Which entries of the slice lie in [from, from + extent) of the axis; they follow each other.
Indices indices_in(const AxisSlice& axis, std::uint64_t from, std::uint64_t extent) {
  const std::uint64_t stride = axis.step > 0 ? static_cast<std::uint64_t>(axis.step)
                                             : static_cast<std::uint64_t>(-axis.step);
  // Entries at positions before `limit`, counted from the low end of the slice.
  const std::uint64_t low =
      axis.step > 0 || axis.count == 0 ? axis.start : axis.position(axis.count - 1);
  const auto below = [&](std::uint64_t limit) {
    if (limit <= low) return std::uint64_t{0};
    return std::min(axis.count, (limit - low - 1) / stride + 1);
  };
  const std::uint64_t first = below(from), last = below(from + extent);
  if (axis.step > 0) return {first, last};
  return {axis.count - last, axis.count - first};
}

/// The part of each chunk that is in the slice, as a region of the result.
class SlicingSink : public TensorSink {
 public:
  SlicingSink(const Slice& slice, TensorSink& sink) : slice_(slice), sink_(sink) {}

  Result<void> write(const Region& region, const TensorView& elements) override {
    TensorView part = elements;
    Region target;
    std::vector<std::uint64_t> extents;
    for (std::size_t i = 0; i < slice_.axes.size(); ++i) {
      const AxisSlice& axis = slice_.axes[i];
      const Indices indices = indices_in(axis, region.origin[i], region.extent[i]);
      if (indices.begin == indices.end) return {};
      const std::uint64_t first = axis.position(indices.begin) - region.origin[i];
      part.data += static_cast<std::ptrdiff_t>(first) * elements.strides[i];
      if (axis.dropped) continue;
      part.strides[extents.size()] = elements.strides[i] * axis.step;
      target.origin[extents.size()] = indices.begin;
      extents.push_back(indices.end - indices.begin);
    }
    TRY(target.extent, Shape::make(extents));
    part.shape = target.extent;
    return sink_.write(target, part);
  }

 private:
  const Slice& slice_;
  TensorSink& sink_;
};

}  // namespace

std::vector<std::uint64_t> chunks_of(const Slice& slice, const ChunkGrid& grid) {
  // The numbers along the axes so far; an axis more multiplies them, in C order.
  std::vector<std::uint64_t> numbers = {0};
  for (std::size_t i = 0; i < slice.axes.size(); ++i) {
    const std::uint64_t length = grid.chunk_shape()[i];
    const std::uint64_t count = (grid.shape()[i] + length - 1) / length;
    std::vector<std::uint64_t> along;
    for (std::uint64_t chunk = 0; chunk < count; ++chunk) {
      const Indices indices = indices_in(slice.axes[i], chunk * length, length);
      if (indices.begin < indices.end) along.push_back(chunk);
    }
    std::vector<std::uint64_t> next;
    next.reserve(numbers.size() * along.size());
    for (const std::uint64_t before : numbers) {
      for (const std::uint64_t chunk : along) next.push_back(before * count + chunk);
    }
    numbers = std::move(next);
  }
  if (grid.chunk_count() == 0) numbers.clear();
  return numbers;
}

Result<void> read_slice(const StreamReader& reader, const Slice& slice, TensorSink& sink,
                        const DecompressOptions& options) {
  ENSURE(slice.axes.size() == reader.info().shape.rank());
  SlicingSink slicing(slice, sink);
  return reader.read_chunks(chunks_of(slice, ReaderAccess::grid(reader)), slicing, options);
}

}  // namespace tensorpress::stream
