// A fuzzer's bytes as a row of choices. When they run out everything is 0, so that every input,
// however short, means something.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace tensorpress::fuzz {

class ByteTaker {
 public:
  ByteTaker(const std::uint8_t* data, std::size_t size)
      : left_(reinterpret_cast<const std::byte*>(data), size) {}

  /// The next bytes as a number, lowest byte first; floating-point numbers by their bits.
  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::size_t count = std::min(sizeof(T), left_.size());
    if (count != 0) std::memcpy(&value, left_.data(), count);
    left_ = left_.subspan(count);
    return value;
  }
  /// 0 to end - 1 from one byte.
  std::size_t below(std::size_t end) { return take<std::uint8_t>() % end; }
  bool flag() { return (take<std::uint8_t>() & 1) != 0; }
  template <class Choices>
  auto one_of(const Choices& choices) {
    return choices[below(std::size(choices))];
  }
  std::span<const std::byte> rest() const { return left_; }

 private:
  std::span<const std::byte> left_;
};

}  // namespace tensorpress::fuzz
