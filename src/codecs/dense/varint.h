// LEB128 numbers, and a writer that knows when its span is full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"

namespace tensorpress::dense {

constexpr std::uint64_t zigzag64(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag64(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

class SpanWriter {
 public:
  explicit SpanWriter(std::span<std::byte> bytes) : bytes_(bytes) {}

  void byte(std::uint8_t value) {
    if (at_ < bytes_.size()) bytes_[at_] = static_cast<std::byte>(value);
    ++at_;
  }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  template <std::unsigned_integral T>
  void word(T value) {
    if (at_ + sizeof value <= bytes_.size()) store_le(bytes_.data() + at_, value);
    at_ += sizeof value;
  }

  bool fits() const { return at_ <= bytes_.size(); }
  std::size_t size() const { return at_; }
  /// What is left; only when fits().
  std::span<std::byte> rest() const { return bytes_.subspan(at_); }

 private:
  std::span<std::byte> bytes_;
  std::size_t at_ = 0;
};

inline Result<std::uint64_t> read_number(ByteReader& reader) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    TRY(const auto byte, reader.read<std::uint8_t>());
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return corrupt("a number has more than ten bytes");
}

}  // namespace tensorpress::dense
