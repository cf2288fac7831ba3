// Elements of any dtype as double (which holds all of them exactly) or float, and floats back as
// elements.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/tensor/half_types.h"
#include "tensorpress/dtype.h"

namespace tensorpress {

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

/// A double beyond float's range becomes infinite.
inline float narrowed(double value) {
  constexpr double kBeyond =
      0x1.ffffffp127;  // halfway from the largest float to the next power of two
  if (value >= kBeyond) return HUGE_VALF;
  if (value <= -kBeyond) return -HUGE_VALF;
  return static_cast<float>(value);
}

/// The bits of NaN too, where the type has them.
inline float to_float(float value) {
  return value;
}
inline float to_float(double value) {
  return narrowed(value);
}
inline float to_float(F16Bits value) {
  return f16_to_float(value.bits);
}
inline float to_float(Bf16Bits value) {
  return bf16_to_float(value.bits);
}
inline float to_float(std::uint8_t value) {
  return value;
}
inline float to_float(std::int16_t value) {
  return value;
}

inline void from_float(float value, float& to) {
  to = value;
}
inline void from_float(float value, double& to) {
  to = static_cast<double>(value);
}
inline void from_float(float value, F16Bits& to) {
  to.bits = float_to_f16(value);
}
inline void from_float(float value, Bf16Bits& to) {
  to.bits = float_to_bf16(value);
}
// Integers: clamped, then rounded half up in double, where the sum is exact. NaN becomes the
// smallest value.
inline void from_float(float value, std::uint8_t& to) {
  const float clamped = !(value > 0.0f) ? 0.0f : value > 255.0f ? 255.0f : value;
  to = static_cast<std::uint8_t>(static_cast<double>(clamped) + 0.5);
}
inline void from_float(float value, std::int16_t& to) {
  const float clamped = !(value > -32768.0f) ? -32768.0f : value > 32767.0f ? 32767.0f : value;
  to = static_cast<std::int16_t>(static_cast<int>(static_cast<double>(clamped) + 32768.5) - 32768);
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

namespace elements_detail {

template <class T>
void load_strided(const std::byte* from, std::int64_t stride, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + static_cast<std::int64_t>(i) * stride, sizeof value);
    to[i] = to_double(value);
  }
}

template <class T>
void load_strided(const std::byte* from, std::int64_t stride, std::size_t count, float* to) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + static_cast<std::int64_t>(i) * stride, sizeof value);
    to[i] = to_float(value);
  }
}

template <class T>
void store_strided(const float* from, std::byte* to, std::int64_t stride, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    from_float(from[i], value);
    std::memcpy(to + static_cast<std::int64_t>(i) * stride, &value, sizeof value);
  }
}

}  // namespace elements_detail

/// `count` elements, `stride` bytes apart, as doubles or floats.
template <class Number>
void load_elements(DType dtype, const std::byte* from, std::int64_t stride, std::size_t count,
                   Number* to) {
  if (std::is_same_v<Number, float> && dtype == DType::f32 && stride == sizeof(float)) {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    if (stride == static_cast<std::int64_t>(sizeof(T))) {
      elements_detail::load_strided<T>(from, sizeof(T), count,
                                       to);  // a constant stride can be vectorized
    } else {
      elements_detail::load_strided<T>(from, stride, count, to);
    }
  });
}

/// Floats as elements; integers are rounded and clamped.
inline void store_elements(DType dtype, const float* from, std::byte* to, std::int64_t stride,
                           std::size_t count) {
  if (dtype == DType::f32 && stride == sizeof(float)) {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    if (stride == static_cast<std::int64_t>(sizeof(T))) {
      elements_detail::store_strided<T>(from, to, sizeof(T), count);
    } else {
      elements_detail::store_strided<T>(from, to, stride, count);
    }
  });
}

}  // namespace tensorpress
