#include "stream/stream_tensor.h"

#include <limits>

#include "base/errors.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream {

Result<std::unique_ptr<StreamTensor>> StreamTensor::open(std::unique_ptr<ByteSource> bytes,
                                                         std::size_t threads) {
  TRY(auto reader, StreamReader::open(*bytes));
  return std::unique_ptr<StreamTensor>(
      new StreamTensor(std::move(bytes), std::move(reader), threads));
}

Result<TensorView> StreamTensor::read(const Region& region, AlignedBuffer& scratch) {
  const std::uint64_t size = region.extent.element_count() * size_of(dtype());
  const auto room = scratch.reserve(static_cast<std::size_t>(size));
  const auto view = MutableTensorView::contiguous(room.data(), dtype(), region.extent);
  ViewSink sink(view);
  // A region is no larger than a chunk of the new stream, whatever the old one's chunks are.
  RETURN_IF_ERROR(reader_.read_region(
      region, sink, {.threads = threads_, .max_bytes = std::numeric_limits<std::uint64_t>::max()}));
  return TensorView(view);
}

}  // namespace tensorpress::stream
