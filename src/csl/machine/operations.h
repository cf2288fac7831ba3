// The operations on data structure descriptors: what each reads and writes.
#pragma once

#include <span>
#include <string_view>

#include "csl/meaning/scalar.h"

namespace tensorpress::csl {

enum class Operation : std::uint8_t {
  move,
  add,
  add_with_carry,
  subtract,
  bit_and,
  bit_or,
  bit_xor,
  shift_right_signed,
  shift_left,
  shift_right,
  multiply,
  multiply_add,
  maximum,
  negate,
  absolute,
  convert,
  population
};

struct OperationForm {
  std::string_view name;  // of the builtin
  Operation operation;
  std::uint8_t sources;
  Scalar to, from;      // types of the destination and of the sources
  std::uint8_t width;   // elements a cycle on WSE-2, by the vendor's table
  std::uint8_t width3;  // on WSE-3
};

std::span<const OperationForm> operation_forms();
/// Null where no operation has that name.
const OperationForm* operation_named(std::string_view name);

}  // namespace tensorpress::csl
