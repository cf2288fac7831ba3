// One bit a value, lowest first: which values equal one pattern (and whether all others are 0), and
// which are above 0. One read of the values and 1/8 to 1/64 of it written, or the reverse; 2 to 5
// operations a vector, bound by memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "tensorpress/dtype.h"

namespace tensorpress::kernels {

/// Values are aligned as their dtype needs it. Bits after the last value are 0.
struct BitmaskKernels {
  /// Bit set: the value has the bit pattern `other`, which is not 0. False, and useless bits, when
  /// some value is neither that nor all zeros.
  bool (*pack_equal)(const std::byte* values, std::size_t count, std::uint64_t other,
                     std::byte* bits);
  /// The pattern where the bit is set, else zeros.
  void (*expand)(const std::byte* bits, std::size_t count, std::uint64_t other, std::byte* values,
                 bool past_cache);
  /// Bit set: the value is above 0. NaN is not.
  void (*pack_positive)(const std::byte* values, std::size_t count, std::byte* bits);
  /// Values without a bit that are above 0 become 0, those with one that are not become `tiny`.
  void (*restore_positive)(const std::byte* bits, std::size_t count, std::uint64_t tiny,
                           std::byte* values);
};

BitmaskKernels bitmask_kernels(DType dtype, Isa isa);
BitmaskKernels bitmask_reference(DType dtype);

}  // namespace tensorpress::kernels
