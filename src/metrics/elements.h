// Elements of any dtype as doubles, which hold all of them exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half_types.h"
#include "tensorpress/dtype.h"

namespace tensorpress::metrics {

struct F16Bits {
  std::uint16_t bits;
};
struct Bf16Bits {
  std::uint16_t bits;
};

inline double to_double(float value) {
  return static_cast<double>(value);
}
inline double to_double(double value) {
  return value;
}
inline double to_double(F16Bits value) {
  return static_cast<double>(f16_to_float(value.bits));
}
inline double to_double(Bf16Bits value) {
  return static_cast<double>(bf16_to_float(value.bits));
}
inline double to_double(std::uint8_t value) {
  return value;
}
inline double to_double(std::int16_t value) {
  return value;
}

/// Calls work(T{}) with the type that a dtype has in memory.
template <class Work>
auto with_type(DType dtype, Work work) {
  switch (dtype) {
    case DType::f64:
      return work(double{});
    case DType::f16:
      return work(F16Bits{});
    case DType::bf16:
      return work(Bf16Bits{});
    case DType::u8:
      return work(std::uint8_t{});
    case DType::i16:
      return work(std::int16_t{});
    case DType::f32:
      break;
  }
  return work(float{});
}

template <class T>
void load_strided(const std::byte* from, std::int64_t stride, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + static_cast<std::int64_t>(i) * stride, sizeof value);
    to[i] = to_double(value);
  }
}

/// `count` elements, `stride` bytes apart.
inline void load_elements(DType dtype, const std::byte* from, std::int64_t stride,
                          std::size_t count, double* to) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    if (stride == static_cast<std::int64_t>(sizeof(T))) {
      load_strided<T>(from, sizeof(T), count, to);  // a constant stride can be vectorized
    } else {
      load_strided<T>(from, stride, count, to);
    }
  });
}

}  // namespace tensorpress::metrics
