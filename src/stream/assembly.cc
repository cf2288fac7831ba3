#include "stream/assembly.h"

#include "base/errors.h"
#include "stream/chunks/chunk_decoder.h"

namespace tensorpress::stream {

Result<void> StreamAssembly::append(std::uint64_t number, const CompressedChunk& chunk,
                                    std::span<const std::byte> record) {
  const bool repeat = totals_.add(compact::ChunkOutline::of_record(chunk, record));
  RETURN_IF_ERROR(sink_.append(repeat ? repeat_record() : record));
  const std::uint64_t elements = plan_.grid.region(number).extent.element_count();
  tried_.elements += elements - chunk.special_elements;
  tried_.squared_error += chunk.squared_error;
  elements_done_ += elements;
  if (options_.progress) options_.progress(elements_done_, plan_.grid.shape().element_count());
  return {};
}

Result<StreamInfo> StreamAssembly::finish() {
  const std::uint64_t offset = totals_.offset();
  const std::uint64_t payload_bytes = totals_.payload_bytes();
  TRY(Closing closing, std::move(totals_).close());
  RETURN_IF_ERROR(sink_.append(closing.bytes));
  StreamInfo info = info_of(plan_.header, plan_.grid);
  info.attributes = options_.attributes;
  info.statistics = std::move(closing.statistics);
  info.bytes_out = offset + closing.bytes.size();
  info.payload_bytes = payload_bytes;
  return info;
}

Outcome StreamAssembly::outcome(const StreamInfo& info) const {
  return {.mean_squared_error = tried_.mean_squared_error(),
          .bytes_in = info.bytes_in(),
          .bytes_out = info.bytes_out};
}

}  // namespace tensorpress::stream
