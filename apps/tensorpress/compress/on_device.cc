#include "on_device.h"

#include "base/errors.h"
#include "base/tensor/contiguous.h"
#include "tensorpress/device.h"

namespace tensorpress::cli {

Result<StreamInfo> write_stream_on_device(const std::string& device, const Codec& codec,
                                          TensorSource& source, ByteSink& sink,
                                          const CompressOptions& options) {
  TRY(auto opened, device::Device::open(device));
  AlignedBuffer scratch, room;
  TRY(const TensorView elements, source.read(Region::whole(source.shape()), scratch));
  TRY(const auto memory, opened.allocate(elements.byte_count()));
  RETURN_IF_ERROR(opened.upload(
      {contiguous_elements(elements, room), static_cast<std::size_t>(elements.byte_count())},
      memory.memory()));
  TRY(const auto stream,
      opened.compress({memory.memory(), elements.dtype, elements.shape}, codec, options));
  RETURN_IF_ERROR(sink.append(stream));
  return read_info(stream);
}

}  // namespace tensorpress::cli
