#include "stream/plan.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "codecs/fill_keeping.h"
#include "codecs/registry.h"

namespace tensorpress::stream {

Result<StreamPlan> plan_stream(const Codec& codec, DType dtype, const Shape& shape,
                               const std::optional<Shape>& chunk_shape,
                               std::span<const Attribute> attributes,
                               std::span<const double> fill_values) {
  TRY(const Shape checked, Shape::make(shape.extents()));
  auto chunk_codec = chunk_codec_of(codec);
  const RegisteredCodec* const registered = find_codec(codec.name());
  ENSURE(registered != nullptr);
  if (!fill_values.empty() && !registered->info.error_bounded) {
    chunk_codec = keeping_fills(std::move(chunk_codec), fill_values);
  }
  Shape chunk = chunk_shape ? *chunk_shape : chunk_codec->preferred_chunk_shape(checked, dtype);
  if (!chunk_shape) {
    // Of an empty tensor a codec can only prefer empty chunks.
    for (std::size_t axis = 0; axis < chunk.rank(); ++axis) {
      chunk[axis] = std::max<std::uint64_t>(chunk[axis], 1);
    }
  }
  TRY(const auto grid, ChunkGrid::make(checked, chunk));
  Header header{codec, dtype, checked, chunk};
  TRY(auto opening, compact::encode_opening(header, attributes));
  return StreamPlan{std::move(chunk_codec), grid, std::move(header), std::move(opening)};
}

bool StreamTotals::add(const compact::ChunkOutline& outline) {
  const CompressedChunk& chunk = outline.chunk;
  const auto payload = outline.short_payload();
  squared_error_ += chunk.squared_error;
  if (repeats_.is_repeat(payload)) {
    index_.add_repeat();
    ++offset_;
    return true;
  }
  offset_ += compact::Record::of(chunk).size();
  payload_bytes_ += chunk.bytes;
  if (chunk.raw) {
    ++raw_chunks_;
    index_.add_raw();
  } else {
    index_.add_coded(chunk.bytes, payload);
  }
  return false;
}

Result<Closing> StreamTotals::close() && {
  // The index says how many chunks are raw, so that need not be stored.
  const Statistic error{"l2_error", std::sqrt(squared_error_)};
  const auto index = std::move(index_).finish();
  TRY(auto bytes, compact::encode_closing(index, std::span(&error, 1), offset_));
  return Closing{std::move(bytes), {error, {"raw_chunks", static_cast<double>(raw_chunks_)}}};
}

std::span<const std::byte> repeat_record() {
  static constexpr std::byte kRecord{compact::kRepeatCode};
  return std::span(&kRecord, 1);
}

std::uint64_t bound_on_closing(std::uint64_t chunk_count, std::uint64_t largest_payload) {
  // A token's number is at most the zigzag code of a size. A repeat's payload takes the place of
  // one in a record.
  const std::uint64_t token = compact::varint_bytes(largest_payload << 3 | 7);
  constexpr std::uint64_t kStatistics = 64, kSection = 1 + compact::kMaxVarintBytes + 8;
  return chunk_count * token + kStatistics + kSection + compact::kTrailerBytes;
}

}  // namespace tensorpress::stream
