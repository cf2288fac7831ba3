#include "stream/chunks/chunk_decoder.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/errors.h"
#include "codecs/registry.h"
#include "stream/container/stream_input.h"

namespace tensorpress::stream {
namespace {

bool holds(DType dtype, double value) {
  if (is_floating(dtype)) return true;
  const double low = dtype == DType::u8 ? 0 : INT16_MIN;
  const double high = dtype == DType::u8 ? UINT8_MAX : INT16_MAX;
  return value >= low && value <= high && value == std::trunc(value);
}

double missing_value_of(const Codec& codec, DType dtype) {
  if (const auto& kept = codec.kept_bound(); kept && !kept->fill_values.empty()) {
    const double fill = kept->fill_values.front();
    if (holds(dtype, fill)) return fill;
  }
  return is_floating(dtype) ? std::numeric_limits<double>::quiet_NaN() : 0;
}

}  // namespace

Result<ChunkDecoder> ChunkDecoder::make(const Header& header) {
  auto grid = ChunkGrid::make(header.shape, header.chunk_shape);
  if (!grid.ok()) return corrupt("the header contradicts itself: ", grid.error().message);
  return ChunkDecoder(chunk_codec_of(header.codec), *grid, header.dtype,
                      missing_value_of(header.codec, header.dtype));
}

Result<void> ChunkDecoder::check_payload_size(std::uint64_t number,
                                              std::uint64_t payload_bytes) const {
  const Shape extent = grid_.region(number).extent;
  if (payload_bytes == extent.element_count() * size_of(dtype_)) return {};
  const std::uint64_t expected = codec_->expected_output_size(extent, dtype_);
  if (expected == payload_bytes) return {};
  if (expected != 0) {
    return corrupt("chunk ", number, " is corrupt: it has ", payload_bytes, " bytes instead of ",
                   expected);
  }
  const std::uint64_t bound = codec_->bound_on_output_size(extent, dtype_);
  if (payload_bytes <= bound) return {};
  return corrupt("chunk ", number, " is corrupt: it has ", payload_bytes,
                 " bytes where the codec writes at most ", bound);
}

Result<void> ChunkDecoder::decode(std::uint64_t number, const FetchedChunk& chunk,
                                  const MutableTensorView& output,
                                  ChunkWorkspace& workspace) const {
  workspace.origin = grid_.region(number).origin;
  workspace.checksum.reset();
  const auto decoded = chunk.raw ? decompress_raw(chunk.payload, output, workspace)
                                 : codec_->decompress(chunk.payload, output, workspace);
  // A codec that gave up has not read everything. Damage explains its complaint better than it can.
  const std::uint64_t payload_checksum =
      decoded.ok() ? workspace.checksum.value() : checksum_of(chunk.payload);
  const std::uint64_t found = chunk.seal.found(payload_checksum);
  if (found != chunk.seal.expected) {
    return checksum_error(text("chunk ", number), chunk.seal.expected, found);
  }
  if (decoded.ok()) return {};
  return Error{decoded.error().code,
               text("chunk ", number, " is corrupt: ", decoded.error().message)};
}

std::uint64_t ChunkDecoder::working_bytes() const {
  if (grid_.chunk_count() == 0) return 0;
  const Shape extent = grid_.region(0).extent;
  return extent.element_count() * size_of(dtype_) + codec_->bound_on_output_size(extent, dtype_);
}

StreamInfo info_of(const Header& header, const ChunkGrid& grid, unsigned format_version) {
  return {.format_version = format_version,
          .codec = header.codec,
          .dtype = header.dtype,
          .shape = header.shape,
          .chunk_shape = header.chunk_shape,
          .chunk_count = grid.chunk_count()};
}

Result<void> check_decompressed_size(const StreamInfo& info, std::uint64_t max_bytes) {
  if (info.bytes_in() <= max_bytes) return {};
  return too_large("the stream holds a tensor of shape ", info.shape.to_string(), ", ",
                   human_bytes(info.bytes_in()), "; the limit is ", human_bytes(max_bytes),
                   " (max_bytes)");
}

}  // namespace tensorpress::stream
