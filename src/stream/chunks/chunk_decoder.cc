#include "stream/chunks/chunk_decoder.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/errors.h"
#include "codecs/bounded/parameters.h"
#include "codecs/registry.h"
#include "stream/chunks/section_reader.h"
#include "tensorpress/version.h"

namespace tensorpress::stream {
namespace {

bool holds(DType dtype, double value) {
  if (is_floating(dtype)) return true;
  const double low = dtype == DType::u8 ? 0 : INT16_MIN;
  const double high = dtype == DType::u8 ? UINT8_MAX : INT16_MAX;
  return value >= low && value <= high && value == std::trunc(value);
}

double missing_value_of(const Codec& codec, DType dtype) {
  const auto fills = bounded::parse_fills(codec.parameter(bounded::kFillParameter.name));
  if (fills.ok() && !fills->empty() && holds(dtype, fills->front())) return fills->front();
  return is_floating(dtype) ? std::numeric_limits<double>::quiet_NaN() : 0;
}

}  // namespace

Result<ChunkDecoder> ChunkDecoder::make(const Header& header) {
  auto grid = ChunkGrid::make(header.shape, header.chunk_shape);
  if (!grid.ok()) return corrupt("the header contradicts itself: ", grid.error().message);
  TRY(auto codec, create_chunk_codec(header.codec));
  return ChunkDecoder(std::move(codec), *grid, header.dtype,
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

Result<void> ChunkDecoder::check_frame(std::uint64_t number, const Frame& frame) const {
  if (frame.type != kChunk) {
    return corrupt("chunk ", number, " is corrupt: section ", name_of(frame.type),
                   " stands in its place");
  }
  if (frame.number != number) {
    return corrupt("chunk ", number, " is corrupt: chunk ", frame.number, " stands in its place");
  }
  if ((frame.flags & ~kRawFlag) != 0) {
    return corrupt("chunk ", number, " is corrupt: its flags are ", frame.flags,
                   ", of which this version knows only 1");
  }
  return check_payload_size(number, frame.payload_bytes);
}

Result<void> ChunkDecoder::decode(std::uint64_t number, const Frame& frame,
                                  std::span<const std::byte> payload,
                                  const MutableTensorView& output,
                                  ChunkWorkspace& workspace) const {
  workspace.origin = grid_.region(number).origin;
  workspace.checksum.reset();
  const auto decoded = (frame.flags & kRawFlag) != 0
                           ? decompress_raw(payload, output, workspace)
                           : codec_->decompress(payload, output, workspace);
  // A codec that gave up has not read everything. Damage explains its complaint better than it can.
  const std::uint64_t payload_checksum =
      decoded.ok() ? workspace.checksum.value() : checksum_of(payload);
  const std::uint64_t found = frame_checksum(frame, payload_checksum);
  if (found != frame.checksum) return checksum_error(text("chunk ", number), frame.checksum, found);
  if (decoded.ok()) return {};
  return Error{decoded.error().code,
               text("chunk ", number, " is corrupt: ", decoded.error().message)};
}

std::uint64_t ChunkDecoder::working_bytes() const {
  if (grid_.chunk_count() == 0) return 0;
  const Shape extent = grid_.region(0).extent;
  return extent.element_count() * size_of(dtype_) + codec_->bound_on_output_size(extent, dtype_);
}

StreamInfo info_of(const Header& header, const ChunkGrid& grid) {
  return {.format_version = kFormatVersion,
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
