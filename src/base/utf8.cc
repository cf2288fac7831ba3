#include "base/utf8.h"

#include <cstddef>

namespace tensorpress {
namespace {

// What the byte after the first must lie between, and how many bytes follow the first.
struct Sequence {
  std::size_t following = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  bool valid = true;
};

Sequence sequence_of(unsigned char first) {
  if (first < 0x80) return {};
  if (first < 0xC2) return {.valid = false};
  if (first < 0xE0) return {.following = 1};
  if (first == 0xE0) return {.following = 2, .low = 0xA0};
  if (first == 0xED) return {.following = 2, .high = 0x9F};
  if (first < 0xF0) return {.following = 2};
  if (first == 0xF0) return {.following = 3, .low = 0x90};
  if (first < 0xF4) return {.following = 3};
  if (first == 0xF4) return {.following = 3, .high = 0x8F};
  return {.valid = false};
}

}  // namespace

bool is_utf8(std::string_view text) {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const Sequence sequence = sequence_of(byte_at(i++));
    if (!sequence.valid || sequence.following > text.size() - i) return false;
    for (std::size_t k = 0; k < sequence.following; ++k, ++i) {
      const unsigned char low = k == 0 ? sequence.low : 0x80;
      const unsigned char high = k == 0 ? sequence.high : 0xBF;
      if (byte_at(i) < low || byte_at(i) > high) return false;
    }
  }
  return true;
}

}  // namespace tensorpress
