// Elements of a NetCDF type as numbers of C++.
#pragma once

#include <cstdint>
#include <cstring>

#include "files/conventions/netcdf_notes.h"

namespace tensorpress::files {

/// Calls work(T{}) for a numeric type; false for text, strings and unknown types.
template <class Work>
bool with_number(NetcdfType type, Work work) {
  switch (type) {
    case NetcdfType::i8:
      return work(std::int8_t{}), true;
    case NetcdfType::u8:
      return work(std::uint8_t{}), true;
    case NetcdfType::i16:
      return work(std::int16_t{}), true;
    case NetcdfType::u16:
      return work(std::uint16_t{}), true;
    case NetcdfType::i32:
      return work(std::int32_t{}), true;
    case NetcdfType::u32:
      return work(std::uint32_t{}), true;
    case NetcdfType::i64:
      return work(std::int64_t{}), true;
    case NetcdfType::u64:
      return work(std::uint64_t{}), true;
    case NetcdfType::f32:
      return work(float{}), true;
    case NetcdfType::f64:
      return work(double{}), true;
    case NetcdfType::text:
    case NetcdfType::string:
      break;
  }
  return false;
}

/// At any address.
template <class T>
T element(const std::byte* elements, std::size_t index) {
  T value;
  std::memcpy(&value, elements + index * sizeof(T), sizeof value);
  return value;
}

}  // namespace tensorpress::files
