// Bits, lowest first, at the end of a vector of bytes, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace tensorpress::dense {

class BitWriter {
 public:
  explicit BitWriter(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  void put(std::uint32_t value, int bits) {
    for (int i = 0; i < bits; ++i) {
      if (used_ % 8 == 0) bytes_.push_back(std::byte{0});
      bytes_.back() |= static_cast<std::byte>(((value >> i) & 1) << (used_ % 8));
      ++used_;
    }
  }

 private:
  std::vector<std::byte>& bytes_;
  std::size_t used_ = 0;
};

class BitReader {
 public:
  explicit BitReader(ByteReader& reader) : reader_(reader) {}
  Result<std::uint32_t> get(int bits) {
    std::uint32_t value = 0;
    for (int i = 0; i < bits; ++i) {
      if (used_ % 8 == 0) {
        TRY(byte_, reader_.read<std::uint8_t>());
      }
      value |= ((std::uint32_t{byte_} >> (used_ % 8)) & 1) << i;
      ++used_;
    }
    return value;
  }

 private:
  ByteReader& reader_;
  std::uint8_t byte_ = 0;
  std::size_t used_ = 0;
};

}  // namespace tensorpress::dense
