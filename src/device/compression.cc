#include "device/compression.h"

#include <algorithm>

#include "base/errors.h"
#include "device/chunk_coder.h"
#include "device/device_source.h"
#include "stream/assembly.h"
#include "stream/bounds/resolve.h"
#include "stream/chunks/record_compressor.h"
#include "stream/container/compact/record.h"

namespace tensorpress::device {
namespace {

using stream::StreamPlan;
namespace compact = stream::compact;

// The records of a stream in their order, from what kernels made and from what is left to the host.
class Records {
 public:
  Records(const StreamPlan& plan, DeviceSource& source, stream::StreamAssembly& assembly, Isa isa,
          Work& work)
      : plan_(plan), source_(source), assembly_(assembly), workspace_(isa), work_(work) {}

  Result<void> append(const ChunkBatch& batch, const EncodedBatch& encoded) {
    for (std::size_t i = 0; i < batch.places.size(); ++i) {
      RETURN_IF_ERROR(append(batch.first_chunk + i, encoded.chunks[i], encoded.bytes));
    }
    return {};
  }

 private:
  static constexpr std::size_t kChecksumRoom = 8;

  Result<void> append(std::uint64_t number, const EncodedChunk& encoded,
                      std::span<const std::byte> bytes) {
    workspace_.checksum.reset();
    if (encoded.form == EncodedChunk::Form::coded) {
      ++work_.device_chunks;
      const CompressedChunk chunk{.bytes = encoded.bytes, .squared_error = encoded.squared_error};
      const auto payload = bytes.subspan(static_cast<std::size_t>(encoded.offset),
                                         static_cast<std::size_t>(encoded.bytes));
      const auto room = reserve(chunk.bytes);
      const compact::Record record = compact::Record::of(chunk);
      std::ranges::copy(payload, room.begin() + static_cast<std::ptrdiff_t>(record.head_bytes()));
      workspace_.checksum.update(payload);
      return finish(number, chunk, record, room);
    }
    const Region region = plan_.grid.region(number);
    TRY(const TensorView elements, source_.read(region, elements_));
    const std::uint64_t most = plan_.codec->bound_on_output_size(elements.shape, elements.dtype);
    const auto room = reserve(std::max(most, elements.byte_count()));
    const auto place = room.subspan(compact::kMaxRecordHeadBytes);
    CompressedChunk chunk;
    if (encoded.form == EncodedChunk::Form::raw) {
      ++work_.device_chunks;
      chunk = compress_raw(elements, place, workspace_);
    } else {
      ++work_.host_chunks;
      workspace_.origin = region.origin;
      TRY(chunk,
          plan_.codec->compress(elements, place.first(static_cast<std::size_t>(most)), workspace_));
    }
    const compact::Record record = compact::Record::of(chunk);
    return finish(number, chunk, record,
                  room.subspan(compact::kMaxRecordHeadBytes - record.head_bytes()));
  }

  // For a head, a payload and its checksum.
  std::span<std::byte> reserve(std::uint64_t payload_bytes) {
    return record_.reserve(compact::kMaxRecordHeadBytes + static_cast<std::size_t>(payload_bytes) +
                           kChecksumRoom);
  }

  Result<void> finish(std::uint64_t number, const CompressedChunk& chunk,
                      const compact::Record& record, std::span<std::byte> room) {
    const auto whole = room.first(static_cast<std::size_t>(record.size()));
    compact::complete_record(record, number, workspace_.checksum.value(), whole);
    return assembly_.append(number, chunk, whole);
  }

  const StreamPlan& plan_;
  DeviceSource& source_;
  stream::StreamAssembly& assembly_;
  ChunkWorkspace workspace_;
  AlignedBuffer elements_, record_;
  Work& work_;
};

Result<void> write_chunks(Backend& backend, const DeviceTensor& input, const StreamPlan& plan,
                          const ChunkCoder& coder, std::span<const double> fill_values,
                          Records& records) {
  for (std::uint64_t first = 0; first < plan.grid.chunk_count();) {
    const auto batch =
        ChunkBatch::of(plan.grid, input.dtype, first, batch_bytes(backend), coder.tile_values());
    std::vector<ChunkScan> scans;
    if (coder.needs_scans()) {
      TRY(scans, scan_chunks(backend, input, batch, fill_values));
    }
    TRY(const auto encoded, coder.encode(backend, input, batch, scans));
    RETURN_IF_ERROR(records.append(batch, encoded));
    first += batch.places.size();
  }
  return {};
}

}  // namespace

Result<void> check_tensor(const DeviceTensor& tensor) {
  if (tensor.memory.handle == nullptr && tensor.byte_count() > 0) {
    return bad_argument("the device tensor has no memory: its handle is null");
  }
  if (tensor.memory.offset % size_of(tensor.dtype) != 0) {
    return bad_argument("the device tensor begins at byte ", tensor.memory.offset,
                        ", which is not a multiple of the ", size_of(tensor.dtype),
                        " bytes of an element of ", name_of(tensor.dtype));
  }
  return {};
}

Result<std::vector<std::byte>> compress(Backend& backend, const DeviceTensor& input,
                                        const Codec& codec, const CompressOptions& options,
                                        Work& work) {
  RETURN_IF_ERROR(check_tensor(input));
  TRY(const auto execution, stream::Execution::of(options));
  DeviceSource source(backend, input);
  const auto host = stream::look_of_this_process(source, execution);
  const auto look = look_on_device(backend, input, *host);
  TRY(auto resolution, stream::Resolution::begin(codec, source, options, *look));
  RETURN_IF_ERROR(resolution.settle());
  const Codec& resolved = resolution.resolved().codec;
  TRY(const auto plan, stream::plan_stream(resolved, input.dtype, input.shape, options.chunk_shape,
                                           options.attributes, options.fill_values));
  VectorSink sink;
  stream::StreamAssembly assembly(plan, sink, options);
  RETURN_IF_ERROR(assembly.begin());
  const auto coder = chunk_coder_of(resolved, input.dtype);
  if (coder == nullptr) {
    stream::RecordCompressor records(plan, resolution.resolved().hints, source, execution);
    RETURN_IF_ERROR(records.compress(
        0, plan.grid.chunk_count(), [] { return std::span<std::byte>(); },
        [&](std::uint64_t number, const CompressedChunk& chunk, std::span<const std::byte> record) {
          ++work.host_chunks;
          return assembly.append(number, chunk, record);
        }));
  } else {
    Records records(plan, source, assembly, execution.isa, work);
    RETURN_IF_ERROR(write_chunks(backend, input, plan, *coder, options.fill_values, records));
  }
  TRY(const StreamInfo info, assembly.finish());
  if (info.bytes_out != sink.bytes.size()) return internal_error("a stream of another size");
  return std::move(sink.bytes);
}

}  // namespace tensorpress::device
