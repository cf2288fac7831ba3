// Sources and sinks of tensorpress/streaming.h that lie in memory.
#include <algorithm>

#include "base/errors.h"
#include "tensorpress/streaming.h"

namespace tensorpress {

// Here, so that each class has one table of its functions, in this library.
TensorSource::~TensorSource() = default;
TensorSink::~TensorSink() = default;
ByteSink::~ByteSink() = default;
ByteInput::~ByteInput() = default;
ByteSource::~ByteSource() = default;

Result<void> ByteSink::rewind() {
  return internal_error("bytes that are gone cannot be taken back");
}

Result<TensorView> ViewSource::read(const Region& region, AlignedBuffer& /*scratch*/) {
  return view_.part(region);
}

Result<void> ViewSink::write(const Region& region, const TensorView& elements) {
  copy_elements(elements, view_.part(region));
  return {};
}

Result<void> MemorySource::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
    return truncated(into.size(), " bytes are needed at byte ", offset, " of ", bytes_.size());
  }
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
  return {};
}

Result<void> MemorySink::append(std::span<const std::byte> bytes) {
  if (bytes.size() > room_.size() - used_) {
    return bad_argument("the output has room for ", room_.size(),
                        " bytes, too few; bound_on_output_size says how many always suffice");
  }
  if (bytes.data() != room_.data() + used_) {
    std::copy(bytes.begin(), bytes.end(), room_.begin() + static_cast<std::ptrdiff_t>(used_));
  }
  used_ += bytes.size();
  return {};
}

Result<void> MemorySink::rewind() {
  used_ = 0;
  return {};
}

Result<void> VectorSink::append(std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
  return {};
}

Result<void> VectorSink::rewind() {
  bytes.clear();
  return {};
}

}  // namespace tensorpress
