// Varints (ByteReader::read_varint reads them) at the end of a vector, or of a span that may become
// full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

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

inline void append_varint(std::vector<std::byte>& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>((value & 0x7f) | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
}

}  // namespace tensorpress::dense
