// Streams onto a device. The host checks every payload against its checksum before a kernel sees
// it.
#include <algorithm>

#include "base/errors.h"
#include "codecs/registry.h"
#include "device/chunk_coder.h"
#include "device/compression.h"
#include "device/device_source.h"
#include "stream/reader.h"

namespace tensorpress::device {
namespace {

class Chunks {
 public:
  Chunks(Backend& backend, const StreamReader& reader, const DeviceTensor& output, Isa isa,
         Work& work)
      : backend_(backend),
        reader_(reader),
        output_(output),
        sink_(backend, output),
        workspace_(isa),
        work_(work) {}

  Result<void> decode(const ChunkCoder& coder, const ChunkBatch& batch) {
    std::vector<PayloadPlace> payloads(batch.places.size());
    std::vector<AlignedBuffer> scratch(batch.places.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      const std::uint64_t number = batch.first_chunk + i;
      TRY(const auto fetched, ReaderAccess::fetch(reader_, number, scratch[i]));
      // A damaged payload goes to nobody; the host says what is wrong with it.
      const bool sound = fetched.seal.found(checksum_of(fetched.payload)) == fetched.seal.expected;
      if (sound) payloads[i] = {fetched.payload, fetched.raw};
    }
    TRY(const auto decoded, coder.decode(backend_, payloads, output_, batch));
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      if (decoded[i]) {
        ++work_.device_chunks;
      } else {
        RETURN_IF_ERROR(decode_on_host(batch.first_chunk + i));
      }
    }
    return {};
  }

 private:
  Result<void> decode_on_host(std::uint64_t number) {
    ++work_.host_chunks;
    const Region region = reader_.chunk(number);
    const std::uint64_t bytes = region.extent.element_count() * size_of(output_.dtype);
    const auto elements = MutableTensorView::contiguous(
        elements_.reserve(static_cast<std::size_t>(bytes)).data(), output_.dtype, region.extent);
    RETURN_IF_ERROR(ReaderAccess::read_chunk(reader_, number, elements, workspace_));
    return sink_.write(region, elements);
  }

  Backend& backend_;
  const StreamReader& reader_;
  const DeviceTensor& output_;
  DeviceSink sink_;
  ChunkWorkspace workspace_;
  AlignedBuffer elements_;
  Work& work_;
};

}  // namespace

Result<void> decompress(Backend& backend, std::span<const std::byte> stream,
                        const DeviceTensor& output, const DecompressOptions& options, Work& work) {
  RETURN_IF_ERROR(check_tensor(output));
  TRY(const auto execution, stream::Execution::of(options));
  const MemorySource source(stream);
  TRY(const auto reader, StreamReader::open(source));
  const StreamInfo& info = reader.info();
  if (output.shape != info.shape || output.dtype != info.dtype) {
    return bad_argument("the stream holds ", name_of(info.dtype), " of shape ",
                        info.shape.to_string(), ", the device tensor ", name_of(output.dtype),
                        " of shape ", output.shape.to_string());
  }
  const auto coder = chunk_coder_of(info.codec, info.dtype);
  // Chunks that cannot be read are the host's: it knows what stands for them.
  if (coder == nullptr || options.skip_corrupt) {
    DeviceSink sink(backend, output);
    work.host_chunks += info.chunk_count;
    return reader.read_all(sink, options);
  }
  const stream::ChunkGrid& grid = ReaderAccess::grid(reader);
  Chunks chunks(backend, reader, output, execution.isa, work);
  std::uint64_t elements = 0;
  for (std::uint64_t first = 0; first < grid.chunk_count();) {
    const auto batch =
        ChunkBatch::of(grid, info.dtype, first, batch_bytes(backend), coder->tile_values());
    RETURN_IF_ERROR(chunks.decode(*coder, batch));
    first += batch.places.size();
    elements += batch.values;
    if (options.progress) options.progress(elements, info.shape.element_count());
  }
  return backend.finish();
}

}  // namespace tensorpress::device
