#include "base/bytes.h"

namespace tensorpress {

Result<std::string> ByteReader::read_string() {
  TRY(const auto length, read<std::uint16_t>());
  TRY(const auto bytes, take(length));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::span<const std::byte>> ByteReader::take(std::uint64_t count) {
  if (count > remaining()) {
    return truncated(count, " bytes are needed at byte ", position_, ", ", remaining(),
                     " are left");
  }
  const auto part = bytes_.subspan(position_, static_cast<std::size_t>(count));
  position_ += static_cast<std::size_t>(count);
  return part;
}

Result<void> ByteWriter::write_string(std::string_view value) {
  if (value.size() > 0xFFFF) {
    return too_large("a text of ", value.size(), " bytes cannot be stored; the limit is 65535");
  }
  write(static_cast<std::uint16_t>(value.size()));
  append(std::as_bytes(std::span(value)));
  return {};
}

}  // namespace tensorpress
