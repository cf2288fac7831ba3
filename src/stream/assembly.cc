#include "stream/assembly.h"

#include "base/errors.h"
#include "stream/chunks/chunk_decoder.h"

namespace tensorpress::stream {

Result<void> StreamAssembly::append(std::uint64_t number, const CompressedChunk& chunk,
                                    std::span<const std::byte> section) {
  RETURN_IF_ERROR(sink_.append(section));
  totals_.add(chunk);
  const std::uint64_t elements = plan_.grid.region(number).extent.element_count();
  tried_.add({.elements = elements - chunk.special_elements, .squared_error = chunk.squared_error});
  elements_done_ += elements;
  if (options_.progress) options_.progress(elements_done_, plan_.grid.shape().element_count());
  return {};
}

Result<StreamInfo> StreamAssembly::finish() {
  const std::uint64_t offset = totals_.offset();
  const std::uint64_t payload_bytes = totals_.payload_bytes();
  Footer footer = std::move(totals_).footer();
  TRY(const auto closing, encode_closing(footer, offset));
  RETURN_IF_ERROR(sink_.append(closing));
  StreamInfo info = info_of(plan_.header, plan_.grid);
  info.attributes = options_.attributes;
  info.statistics = std::move(footer.statistics);
  info.bytes_out = offset + closing.size();
  info.payload_bytes = payload_bytes;
  return info;
}

Outcome StreamAssembly::outcome(const StreamInfo& info) const {
  return {.mean_squared_error = tried_.mean_squared_error(),
          .bytes_in = info.bytes_in(),
          .bytes_out = info.bytes_out};
}

}  // namespace tensorpress::stream
