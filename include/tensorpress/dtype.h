// Element types of tensors. The numbers are part of the .tpz format and never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensorpress/api.h"
#include "tensorpress/result.h"

namespace tensorpress {

enum class DType : std::uint8_t { f32 = 1, f64 = 2, f16 = 3, bf16 = 4, u8 = 5, i16 = 6 };

constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 8;
    case DType::f32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

constexpr bool is_floating(DType dtype) {
  return dtype != DType::u8 && dtype != DType::i16;
}

/// The DType of a C++ type. Specialize it for 16-bit floats of your own:
///   template <> inline constexpr tensorpress::DType tensorpress::kDTypeOf<Eigen::half> =
///       tensorpress::DType::f16;
template <class T>
inline constexpr DType kDTypeOf = DType{0};
template <>
inline constexpr DType kDTypeOf<float> = DType::f32;
template <>
inline constexpr DType kDTypeOf<double> = DType::f64;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::u8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::i16;
template <class T>
concept HasDType = kDTypeOf<T> != DType{0} && sizeof(T) == size_of(kDTypeOf<T>);

/// Whether elements are of the type that a caller takes them for; the error names both.
TENSORPRESS_API Result<void> check_same_type(DType expected, DType actual);

/// "f32", "f64", "f16", "bf16", "u8" or "i16".
TENSORPRESS_API std::string_view name_of(DType dtype);

/// The reverse of name_of; also takes NumPy's names (float32, uint8, ...).
TENSORPRESS_API Result<DType> parse_dtype(std::string_view name);

/// The dtype with this number in a stream, or an error.
TENSORPRESS_API Result<DType> dtype_from_number(std::uint8_t number);

}  // namespace tensorpress
