// Floats to f16 or bf16 and back, many at a time. Rounds to nearest, ties to even; the same bits as
// base/tensor/half_types.h, those of NaN too. Bandwidth-bound when vectorized.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace tensorpress::kernels {

struct HalfConversion {
  using Narrow = void (*)(const float* from, std::uint16_t* to, std::size_t count);
  using Widen = void (*)(const std::uint16_t* from, float* to, std::size_t count);
  Narrow narrow;
  Widen widen;
};

HalfConversion f16_conversion(Isa isa);
HalfConversion bf16_conversion(Isa isa);

}  // namespace tensorpress::kernels
