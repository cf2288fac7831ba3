// A data structure descriptor as one 64-bit register value: which memory or which wavelets an
// operation runs over.
#pragma once

#include <cstdint>

#include "csl/meaning/types.h"

namespace tensorpress::csl {

struct Descriptor {
  DsdKind kind = DsdKind::none;
  std::uint16_t base = 0;    // memory: byte address; fifo: its number
  std::uint16_t length = 0;  // elements or wavelets; mem4d: the number of its shape
  std::int8_t stride = 1;    // mem1d: in elements
  std::uint8_t queue = 0;    // fabin, fabout
  std::uint8_t color = 0;    // fabin without a queue, fabout
  bool queued = false;       // has a queue
  bool control = false;
  bool advances = false;    // advances the switch behind the last wavelet
  bool indexed = false;     // wavelet_index_offset
  bool transforms = false;  // control_transform
  bool zeroes_first = false, zeroes_second = false;
  bool wide = false;  // SIMD-32: a wavelet carries two values of 16 bits

  std::int64_t packed() const {
    std::uint64_t bits = static_cast<std::uint64_t>(kind);
    bits |= std::uint64_t{base} << 4 | std::uint64_t{length} << 20;
    bits |= std::uint64_t{static_cast<std::uint8_t>(stride)} << 36;
    bits |= std::uint64_t{queue} << 44 | std::uint64_t{color} << 48;
    int at = 53;
    for (const bool flag :
         {queued, control, advances, indexed, transforms, zeroes_first, zeroes_second, wide}) {
      bits |= std::uint64_t{flag} << at++;
    }
    return static_cast<std::int64_t>(bits);
  }
  static Descriptor unpacked(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    Descriptor made;
    made.kind = static_cast<DsdKind>(bits & 15u);
    made.base = static_cast<std::uint16_t>(bits >> 4);
    made.length = static_cast<std::uint16_t>(bits >> 20);
    made.stride = static_cast<std::int8_t>(bits >> 36);
    made.queue = static_cast<std::uint8_t>(bits >> 44 & 15u);
    made.color = static_cast<std::uint8_t>(bits >> 48 & 31u);
    int at = 53;
    for (bool* flag : {&made.queued, &made.control, &made.advances, &made.indexed, &made.transforms,
                       &made.zeroes_first, &made.zeroes_second, &made.wide}) {
      *flag = (bits >> at++ & 1u) != 0;
    }
    return made;
  }
};

/// The dimensions of a mem4d_dsd, the fastest first; strides in elements, from one element's
/// position in this dimension to the next.
struct Shape {
  std::uint8_t dimensions = 1;
  std::uint16_t lengths[4] = {1, 1, 1, 1};
  std::int32_t strides[4] = {0, 0, 0, 0};

  std::uint32_t length() const {
    std::uint32_t product = 1;
    for (int k = 0; k < dimensions; ++k) product *= lengths[k];
    return product;
  }
  /// Of element `k`, in elements from the base.
  std::int64_t offset(std::uint32_t k) const {
    std::int64_t sum = 0;
    for (int d = 0; d < dimensions; ++d) {
      sum += std::int64_t{strides[d]} * (k % lengths[d]);
      k /= lengths[d];
    }
    return sum;
  }
};

}  // namespace tensorpress::csl
