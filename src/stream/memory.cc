// The public calls of tensorpress/stream.h: whole tensors in memory. Codecs work straight between
// the caller's buffers, and payloads are checksummed by the codec while they are in cache, so each
// byte crosses the memory bus once.
#include <algorithm>
#include <new>

#include "base/errors.h"
#include "stream/bounds/resolve.h"
#include "stream/chunks/chunk_decoder.h"
#include "stream/chunks/for_chunks.h"
#include "stream/plan.h"
#include "stream/reader.h"
#include "tensorpress/aligned_buffer.h"
#include "tensorpress/stream.h"
#include "tensorpress/streaming.h"

namespace tensorpress {
namespace {

namespace compact = stream::compact;
using stream::StreamPlan;

// The place of each record when every chunk has the size its codec expects; empty when a codec does
// not know, and when chunks are so small that they may repeat each other. The last entry is the
// place of the footer.
std::vector<std::uint64_t> expected_offsets(const StreamPlan& plan) {
  std::vector<std::uint64_t> offsets;
  std::uint64_t at = plan.opening.size();
  for (std::uint64_t number = 0; number < plan.grid.chunk_count(); ++number) {
    const std::uint64_t bytes =
        plan.codec->expected_output_size(plan.grid.region(number).extent, plan.header.dtype);
    if (bytes <= compact::kShortBytes) return {};
    offsets.push_back(at);
    at += compact::Record::coded(bytes).size();
  }
  offsets.push_back(at);
  return offsets;
}

// Compresses one chunk to its expected place. False when it comes out in another form or not at
// all: the general way then finds out what it is.
bool compress_in_place(const StreamPlan& plan, const TensorView& input, std::uint64_t number,
                       std::span<std::byte> place, CompressedChunk& chunk,
                       ChunkWorkspace& workspace) {
  const Region region = plan.grid.region(number);
  const std::uint64_t expected = plan.codec->expected_output_size(region.extent, plan.header.dtype);
  const auto record = compact::Record::coded(expected);
  const auto payload = place.subspan(record.head_bytes(), static_cast<std::size_t>(expected));
  workspace.origin = region.origin;
  workspace.checksum.reset();
  const auto compressed = plan.codec->compress(input.part(region), payload, workspace);
  if (!compressed.ok() || compressed->bytes != expected || compressed->raw) return false;
  chunk = *compressed;
  compact::complete_record(record, number, workspace.checksum.value(), place);
  return true;
}

// The fast way for fixed-rate codecs. Returns 0 when some chunk did not come out as expected.
Result<std::uint64_t> compress_fixed_rate(const StreamPlan& plan, const TensorView& input,
                                          std::span<const std::uint64_t> offsets,
                                          std::span<std::byte> output,
                                          const stream::Execution& execution) {
  if (offsets.back() > output.size()) {
    return bad_argument("the output has ", output.size(), " bytes; more than ", offsets.back(),
                        " are needed, and bound_on_output_size always suffices");
  }
  std::vector<CompressedChunk> chunks(offsets.size() - 1);
  std::atomic<bool> as_expected = true;
  RETURN_IF_ERROR(stream::for_each_chunk(
      chunks.size(), execution, offsets.back() > stream::kStreamStoresAbove,
      [&](std::size_t i, ChunkWorkspace& workspace) -> Result<void> {
        if (!as_expected) return {};
        const auto place = output.subspan(static_cast<std::size_t>(offsets[i]),
                                          static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
        if (!compress_in_place(plan, input, i, place, chunks[i], workspace)) as_expected = false;
        return {};
      }));
  if (!as_expected) return std::uint64_t{0};

  stream::StreamTotals totals(plan.opening.size());
  for (const auto& chunk : chunks) totals.add({.chunk = chunk, .payload = {}});
  TRY(const auto closed, std::move(totals).close());
  const auto& closing = closed.bytes;
  if (closing.size() > output.size() - offsets.back()) {
    return bad_argument("the output has ", output.size(), " bytes; ",
                        offsets.back() + closing.size(), " are needed");
  }
  std::ranges::copy(plan.opening, output.begin());
  std::ranges::copy(closing, output.begin() + static_cast<std::ptrdiff_t>(offsets.back()));
  return offsets.back() + closing.size();
}

/// What make() makes of so many bytes, unless there are none.
template <class Make>
auto allocated(std::uint64_t bytes, const Make& make) -> Result<decltype(make(std::size_t{}))> {
  if (bytes <= PTRDIFF_MAX) {
    try {
      return make(static_cast<std::size_t>(bytes));
    } catch (const std::bad_alloc&) {
    }
  }
  return too_large(human_bytes(bytes), " cannot be allocated; work chunk by chunk instead");
}

}  // namespace

std::optional<double> StreamInfo::statistic(std::string_view name) const {
  for (const auto& candidate : statistics) {
    if (candidate.name == name) return candidate.value;
  }
  return std::nullopt;
}

Compressor::Compressor(Codec codec, CompressOptions options)
    : codec_(std::move(codec)), options_(std::move(options)) {}

Result<std::uint64_t> Compressor::bound_on_output_size(const Shape& shape, DType dtype) const {
  TRY(const auto plan, stream::plan_stream(codec_, dtype, shape, options_.chunk_shape,
                                           options_.attributes, options_.fill_values));
  std::uint64_t bytes = plan.opening.size() + stream::kResolvedParameterBytes;
  std::uint64_t largest = 0;
  for (std::uint64_t number = 0; number < plan.grid.chunk_count(); ++number) {
    const std::uint64_t payload =
        plan.codec->bound_on_output_size(plan.grid.region(number).extent, dtype);
    bytes += compact::Record::coded(payload).size();
    largest = std::max(largest, payload);
  }
  return bytes + stream::bound_on_closing(plan.grid.chunk_count(), largest);
}

Result<std::uint64_t> Compressor::compress(const TensorView& input,
                                           std::span<std::byte> output) const {
  TRY(const auto execution, stream::Execution::of(options_));
  {
    TRY(const auto plan, stream::plan_stream(codec_, input.dtype, input.shape, options_.chunk_shape,
                                             options_.attributes, options_.fill_values));
    const auto offsets = expected_offsets(plan);
    if (!offsets.empty() && !options_.bound) {
      TRY(const std::uint64_t length, compress_fixed_rate(plan, input, offsets, output, execution));
      if (length != 0) return length;
    }
  }
  ViewSource source(input);
  MemorySink sink(output);
  TRY(const auto info, write_stream(codec_, source, sink, options_));
  return info.bytes_out;
}

Decompressor::Decompressor(DecompressOptions options) : options_(std::move(options)) {}

Result<void> Decompressor::decompress(std::span<const std::byte> stream,
                                      const MutableTensorView& output) const {
  TRY(const auto execution, stream::Execution::of(options_));
  const MemorySource source(stream);
  TRY(const auto reader, StreamReader::open(source));
  const StreamInfo& info = reader.info();
  RETURN_IF_ERROR(stream::check_decompressed_size(info, options_.max_bytes));
  if (output.shape != info.shape || output.dtype != info.dtype) {
    return bad_argument("the stream holds ", name_of(info.dtype), " of shape ",
                        info.shape.to_string(), ", the output ", name_of(output.dtype),
                        " of shape ", output.shape.to_string());
  }
  return stream::for_each_chunk(info.chunk_count, execution,
                                info.bytes_in() > stream::kStreamStoresAbove,
                                [&](std::size_t number, ChunkWorkspace& workspace) {
                                  return ReaderAccess::read_chunk(
                                      reader, number, output.part(reader.chunk(number)), workspace);
                                });
}

Result<void> Decompressor::decompress(std::span<const std::byte> stream, const Region& region,
                                      const MutableTensorView& output) const {
  const MemorySource source(stream);
  TRY(const auto reader, StreamReader::open(source));
  if (output.shape != region.extent || output.dtype != reader.info().dtype) {
    return bad_argument("the region holds ", name_of(reader.info().dtype), " of shape ",
                        region.extent.to_string(), ", the output ", name_of(output.dtype),
                        " of shape ", output.shape.to_string());
  }
  ViewSink sink(output);
  return reader.read_region(region, sink, options_);
}

Result<StreamInfo> read_info(std::span<const std::byte> stream) {
  const MemorySource source(stream);
  TRY(const auto reader, StreamReader::open(source));
  return reader.info();
}

Result<std::vector<std::byte>> compress(const TensorView& input, const Codec& codec,
                                        const CompressOptions& options) {
  const Compressor compressor(codec, options);
  TRY(const std::uint64_t bound, compressor.bound_on_output_size(input.shape, input.dtype));
  // The bound is far above what most data takes: memory that is not cleared is never touched, and
  // what was written is copied to a vector of its size.
  TRY(AlignedBuffer room, allocated(bound, [](std::size_t bytes) { return AlignedBuffer(bytes); }));
  const std::span<std::byte> output = room.reserve(static_cast<std::size_t>(bound));
  TRY(const std::uint64_t length, compressor.compress(input, output));
  const auto written = output.first(static_cast<std::size_t>(length));
  return allocated(
      length, [&](std::size_t) { return std::vector<std::byte>(written.begin(), written.end()); });
}

Result<std::vector<std::byte>> compress(const TensorView& input, const Codec& codec,
                                        const Bound& bound, CompressOptions options) {
  options.bound = bound;
  return compress(input, codec, options);
}

Result<Tensor> decompress(std::span<const std::byte> stream, const DecompressOptions& options) {
  TRY(const auto info, read_info(stream));
  RETURN_IF_ERROR(stream::check_decompressed_size(info, options.max_bytes));
  Tensor tensor{.dtype = info.dtype, .shape = info.shape};
  TRY(tensor.bytes,
      allocated(info.bytes_in(), [](std::size_t bytes) { return std::vector<std::byte>(bytes); }));
  RETURN_IF_ERROR(Decompressor(options).decompress(stream, tensor.mutable_view()));
  return tensor;
}

}  // namespace tensorpress
