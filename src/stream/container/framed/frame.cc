#include "stream/container/framed/frame.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/errors.h"
#include "kernels/checksum/checksum.h"

namespace tensorpress::stream::framed {

std::array<std::byte, kCheckedFrameBytes> fields_of(const Frame& frame) {
  std::array<std::byte, kCheckedFrameBytes> fields;
  std::memcpy(fields.data(), frame.type.data(), 4);
  store_le(fields.data() + 4, frame.flags);
  store_le(fields.data() + 8, frame.number);
  store_le(fields.data() + 16, frame.payload_bytes);
  return fields;
}

std::uint64_t frame_checksum(const Frame& frame, std::uint64_t payload_checksum) {
  return checksum_of(fields_of(frame), payload_checksum);
}

Result<Frame> parse_frame(std::span<const std::byte, kFrameBytes> bytes) {
  Frame frame;
  std::memcpy(frame.type.data(), bytes.data(), 4);
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  if (!std::all_of(frame.type.begin(), frame.type.end(), is_letter)) {
    return corrupt("no section begins here: its type is not four letters");
  }
  frame.flags = load_le<std::uint32_t>(bytes.data() + 4);
  frame.number = load_le<std::uint64_t>(bytes.data() + 8);
  frame.payload_bytes = load_le<std::uint64_t>(bytes.data() + 16);
  frame.checksum = load_le<std::uint64_t>(bytes.data() + 24);
  return frame;
}

}  // namespace tensorpress::stream::framed
