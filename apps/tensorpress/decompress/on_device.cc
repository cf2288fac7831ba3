#include "on_device.h"

#include <vector>

#include "base/errors.h"
#include "tensorpress/aligned_buffer.h"
#include "tensorpress/device.h"

namespace tensorpress::cli {

Result<void> read_stream_on_device(const std::string& device, const ByteSource& source,
                                   const StreamInfo& info, const DecompressOptions& options,
                                   TensorSink& sink) {
  TRY(auto opened, device::Device::open(device));
  std::vector<std::byte> stream(static_cast<std::size_t>(source.size()));
  RETURN_IF_ERROR(source.read_at(0, stream));
  TRY(const auto memory, opened.allocate(info.bytes_in()));
  RETURN_IF_ERROR(opened.decompress(stream, {memory.memory(), info.dtype, info.shape}, options));
  AlignedBuffer room;
  const auto elements = room.reserve(static_cast<std::size_t>(info.bytes_in()));
  RETURN_IF_ERROR(opened.download(memory.memory(), elements));
  return sink.write(Region::whole(info.shape),
                    TensorView::contiguous(elements.data(), info.dtype, info.shape));
}

}  // namespace tensorpress::cli
