#include "tensorpress/dtype.h"

#include <array>

#include "base/errors.h"

namespace tensorpress {
namespace {

struct Names {
  DType dtype;
  std::string_view ours;
  std::string_view numpy;
};
constexpr std::array<Names, 6> kNames = {{{DType::f32, "f32", "float32"},
                                          {DType::f64, "f64", "float64"},
                                          {DType::f16, "f16", "float16"},
                                          {DType::bf16, "bf16", "bfloat16"},
                                          {DType::u8, "u8", "uint8"},
                                          {DType::i16, "i16", "int16"}}};

}  // namespace

std::string_view name_of(DType dtype) {
  for (const auto& names : kNames) {
    if (names.dtype == dtype) return names.ours;
  }
  return "unknown";
}

Result<DType> parse_dtype(std::string_view name) {
  for (const auto& names : kNames) {
    if (names.ours == name || names.numpy == name) return names.dtype;
  }
  return bad_argument("'", name, "' is not a type; use f32, f64, f16, bf16, u8 or i16");
}

Result<DType> dtype_from_number(std::uint8_t number) {
  for (const auto& names : kNames) {
    if (static_cast<std::uint8_t>(names.dtype) == number) return names.dtype;
  }
  return unsupported("element type number ", number, " is unknown to this version");
}

Result<void> check_same_type(DType expected, DType actual) {
  if (expected == actual) return {};
  return bad_argument("elements of type ", name_of(actual), " were asked for as ",
                      name_of(expected));
}

}  // namespace tensorpress
