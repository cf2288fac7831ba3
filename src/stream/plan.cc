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
  TRY(auto opening, encode_opening(header, attributes));
  return StreamPlan{std::move(chunk_codec), grid, std::move(header), std::move(opening)};
}

void StreamTotals::add(const CompressedChunk& chunk) {
  index_.push_back({offset_, chunk.bytes});
  offset_ += section_bytes(chunk.bytes);
  payload_bytes_ += chunk.bytes;
  raw_chunks_ += chunk.raw ? 1 : 0;
  squared_error_ += chunk.squared_error;
}

Footer StreamTotals::footer() && {
  return {
      std::move(index_),
      {{"l2_error", std::sqrt(squared_error_)}, {"raw_chunks", static_cast<double>(raw_chunks_)}}};
}

Frame chunk_frame(std::uint64_t number, const CompressedChunk& chunk) {
  return {.type = kChunk,
          .flags = chunk.raw ? kRawFlag : 0,
          .number = number,
          .payload_bytes = chunk.bytes};
}

}  // namespace tensorpress::stream
