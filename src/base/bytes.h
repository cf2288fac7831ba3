// Bytes in and out, little-endian, with every access checked. Decoders read hostile input only
// through ByteReader.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"

namespace tensorpress {

template <std::unsigned_integral T>
constexpr T swap_bytes(T value) {
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(value));
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

template <std::unsigned_integral T>
constexpr T little_endian(T value) {
  return std::endian::native == std::endian::little ? value : swap_bytes(value);
}

template <std::unsigned_integral T>
void store_le(std::byte* to, T value) {
  value = little_endian(value);
  std::memcpy(to, &value, sizeof value);
}
template <std::unsigned_integral T>
T load_le(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return little_endian(value);
}

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  template <std::unsigned_integral T>
  Result<T> read() {
    TRY(const auto bytes, take(sizeof(T)));
    return load_le<T>(bytes.data());
  }
  Result<double> read_f64() {
    TRY(const auto bits, read<std::uint64_t>());
    return std::bit_cast<double>(bits);
  }
  /// Seven bits a byte, lowest first, the top bit set in all but the last.
  Result<std::uint64_t> read_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (position_ == bytes_.size()) return truncated("a number ends after its first bytes");
      const auto byte = static_cast<std::uint8_t>(bytes_[position_++]);
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return corrupt("a number has more than 64 bits");
  }
  /// A string with its length in 16 bits before it.
  Result<std::string> read_string();
  Result<std::span<const std::byte>> take(std::uint64_t count);

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

class ByteWriter {
 public:
  template <std::unsigned_integral T>
  void write(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    store_le(bytes_.data() + at, value);
  }
  void write_f64(double value) { write(std::bit_cast<std::uint64_t>(value)); }
  void write_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_.push_back(static_cast<std::byte>((value & 0x7f) | 0x80));
    }
    bytes_.push_back(static_cast<std::byte>(value));
  }
  /// At most 65535 bytes; longer is an error.
  Result<void> write_string(std::string_view value);
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace tensorpress
