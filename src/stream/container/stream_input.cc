#include "stream/container/stream_input.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/errors.h"
#include "kernels/checksum/checksum.h"
#include "stream/container/format.h"

namespace tensorpress::stream {
namespace {

// So much is allocated at once, on the word of the stream.
constexpr std::uint64_t kFirstStepBytes = std::uint64_t{64} << 20;

}  // namespace

Result<std::size_t> SourceInput::read(std::span<std::byte> into) {
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), end_ - at_));
  if (count > 0) RETURN_IF_ERROR(source_.read_at(at_, into.first(count)));
  at_ += count;
  return count;
}

Result<std::span<std::byte>> try_reserve(AlignedBuffer& buffer, std::uint64_t bytes) {
  if (bytes <= PTRDIFF_MAX) {
    try {
      return buffer.reserve(static_cast<std::size_t>(bytes));
    } catch (const std::bad_alloc&) {
    }
  }
  return too_large("a buffer of ", human_bytes(bytes), " cannot be allocated");
}

Result<std::span<const std::byte>> bytes_at(const ByteSource& source, std::uint64_t offset,
                                            std::uint64_t size, AlignedBuffer& scratch) {
  if (const auto memory = source.in_memory(); !memory.empty()) {
    return memory.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  }
  TRY(const auto room, try_reserve(scratch, size));
  RETURN_IF_ERROR(source.read_at(offset, room));
  return std::span<const std::byte>(room);
}

Error checksum_error(std::string_view what, std::uint64_t expected, std::uint64_t found) {
  return corrupt(what, " is corrupt: checksum ", hex(expected), " expected, ", hex(found),
                 " found");
}

Result<unsigned> StreamInput::read_prologue() {
  std::array<std::byte, kPrologueBytes> bytes{};
  TRY(const std::size_t count, input_.read(bytes));
  position_ += count;
  // Something else entirely is more likely than a very short stream.
  auto version = parse_prologue(bytes);
  if (count == bytes.size()) return version;
  if (!version.ok() && version.error().code == ErrorCode::corrupt) return version;
  return truncated("the stream ends at byte ", position_, ", inside its first ", bytes.size(),
                   " bytes");
}

Result<void> StreamInput::fill(std::span<std::byte> into) {
  TRY(const std::size_t count, input_.read(into));
  position_ += count;
  if (count == into.size()) return {};
  return truncated("the stream ends at byte ", position_, ", ", into.size() - count,
                   " bytes too early: it was cut off");
}

Result<std::uint8_t> StreamInput::read_byte() {
  std::array<std::byte, 1> byte;
  RETURN_IF_ERROR(fill(byte));
  return static_cast<std::uint8_t>(byte[0]);
}

Result<std::uint64_t> StreamInput::read_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    TRY(const std::uint8_t byte, read_byte());
    if (shift == 63 && byte > 1) break;
    if (shift > 0 && byte == 0) break;
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return corrupt("the number before byte ", position_, " is not in the form that it must have");
}

Result<std::span<const std::byte>> StreamInput::read_bytes(std::uint64_t count,
                                                           AlignedBuffer& into) {
  std::uint64_t step = std::max<std::uint64_t>(kFirstStepBytes, into.size());
  TRY(auto bytes, try_reserve(into, std::min(count, step)));
  RETURN_IF_ERROR(fill(bytes));
  while (bytes.size() < count) {
    step = bytes.size() * 2;
    AlignedBuffer larger;
    TRY(const auto grown, try_reserve(larger, std::min(count, step)));
    std::memcpy(grown.data(), bytes.data(), bytes.size());
    RETURN_IF_ERROR(fill(grown.subspan(bytes.size())));
    std::swap(into, larger);
    bytes = grown;
  }
  return std::span<const std::byte>(bytes);
}

Result<std::uint64_t> StreamInput::skip(std::uint64_t count) {
  std::array<std::byte, 4096> piece;
  Checksum checksum;
  for (std::uint64_t left = count; left > 0;) {
    const auto part = std::span(piece).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size())));
    RETURN_IF_ERROR(fill(part));
    checksum.update(part);
    left -= part.size();
  }
  return checksum.value();
}

Result<void> StreamInput::expect_end() {
  std::array<std::byte, 1> byte;
  TRY(const std::size_t count, input_.read(byte));
  if (count == 0) return {};
  return corrupt("the stream ends at byte ", position_, ", but more bytes follow");
}

}  // namespace tensorpress::stream
