// Binary arithmetic coding: bits, each with the probability that it is 1, become one number between
// 0 and 1, written as bytes. For streams so small that sixteen states of rANS would outweigh them.
//
// The number lies in [low, high], 32 bits each that slide over the bytes. A bit takes its share of
// the interval, 1 the lower part. Bytes that both ends agree on are written. The end is the
// shortest bytes that, with zeros behind them, lie in the interval; a decoder checks that these
// are the last ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tensorpress::dense {

/// Probabilities are in 1/65536, 1 to 65535.
inline constexpr int kProbabilityBits = 16;

class CodingInterval {
 public:
  std::uint32_t split(std::uint32_t probability) const {
    const std::uint64_t size = high_ - low_;
    return low_ + static_cast<std::uint32_t>(size * probability >> kProbabilityBits);
  }
  void take(bool bit, std::uint32_t at) {
    if (bit) {
      high_ = at;
    } else {
      low_ = at + 1;
    }
  }
  bool agrees() const { return ((low_ ^ high_) >> 24) == 0; }
  std::uint32_t agreed() const { return high_ >> 24; }
  void slide() {
    low_ <<= 8;
    high_ = high_ << 8 | 0xFF;
  }
  /// The shortest bytes in the interval: how many, and the bytes at the top of `last`.
  int shortest(std::uint32_t& last) const {
    for (int bytes = 0; bytes < 4; ++bytes) {
      const std::uint64_t unit = std::uint64_t{1} << (32 - 8 * bytes);
      const std::uint64_t first = (low_ + unit - 1) / unit * unit;
      if (first <= high_) {
        last = static_cast<std::uint32_t>(first);
        return bytes;
      }
    }
    last = low_;
    return 4;
  }

 private:
  std::uint32_t low_ = 0, high_ = 0xFFFFFFFF;
};

class BitEncoder {
 public:
  static constexpr bool kDecodes = false;

  bool code(bool bit, std::uint32_t probability) {
    interval_.take(bit, interval_.split(probability));
    for (; interval_.agrees(); interval_.slide()) {
      bytes_.push_back(static_cast<std::byte>(interval_.agreed()));
    }
    return bit;
  }
  const std::vector<std::byte>& finish() {
    std::uint32_t last = 0;
    for (int left = interval_.shortest(last); left > 0; --left, last <<= 8) {
      bytes_.push_back(static_cast<std::byte>(last >> 24));
    }
    return bytes_;
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  CodingInterval interval_;
  std::vector<std::byte> bytes_;
};

class BitDecoder {
 public:
  static constexpr bool kDecodes = true;

  explicit BitDecoder(std::span<const std::byte> bytes) : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) window_ = window_ << 8 | next();
  }
  /// The bit that the encoder had; what is given is not looked at.
  bool code(bool /*bit*/, std::uint32_t probability) {
    const std::uint32_t at = interval_.split(probability);
    const bool bit = window_ <= at;
    interval_.take(bit, at);
    for (; interval_.agrees(); interval_.slide()) window_ = window_ << 8 | next();
    return bit;
  }
  /// Zeros follow the bytes; a stream that reads far into them lies.
  bool ran_out() const { return read_ > bytes_.size() + 4; }
  /// True if the bytes end where an encoder would have ended them.
  bool finished() const {
    std::uint32_t last = 0;
    const auto left = static_cast<std::size_t>(interval_.shortest(last));
    return read_ - 4 + left == bytes_.size() && window_ == last;
  }

 private:
  std::uint32_t next() {
    const std::size_t at = read_++;
    return at < bytes_.size() ? static_cast<std::uint32_t>(bytes_[at]) : 0u;
  }
  std::span<const std::byte> bytes_;
  std::size_t read_ = 0;
  std::uint32_t window_ = 0;
  CodingInterval interval_;
};

}  // namespace tensorpress::dense
