// A value while a program is compiled: known now, in a register of the code that is being made, or
// in the tile's memory. One class for all three, so that a struct may mix them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "csl/machine/bytecode.h"
#include "csl/meaning/types.h"

namespace tensorpress::csl {

struct Module;
struct Value;

/// Elements of an array or fields of a struct. `items` has one element for all when `same`.
struct Parts {
  std::vector<Value> items;
  std::size_t count = 0;
  bool same = false;
};

enum class Where : std::uint8_t {
  wrong,   // an error has been reported; everything made of it is wrong, too
  known,   // at compile time
  held,    // in the register `held`
  memory,  // at `address` plus the register `held`, unless that is kNoRegister
};

struct Value {
  Where where = Where::wrong;
  const Type* type = nullptr;
  Wide integer = 0;  // integers, booleans, identifiers, addresses, packed descriptors; enums
  double real = 0;
  std::shared_ptr<Parts> parts;              // arrays, structs, ranges
  std::shared_ptr<const std::string> words;  // strings
  const Type* meant = nullptr;               // of values of type `type`
  Module* module = nullptr;                  // imported modules, and whose a function is
  const Declaration* function = nullptr;
  std::uint16_t held = kNoRegister;
  std::uint32_t address = 0;
  Value* slot = nullptr;              // of places that can be assigned at compile time
  std::uint16_t local = kNoRegister;  // the register of a variable, of places that can be assigned
  bool constant = false;              // memory that is not to be written

  bool ok() const { return where != Where::wrong; }
  bool known() const { return where == Where::known; }
};

/// As @comptime_print shows it, and as the key under which modules and functions are remembered.
std::string shown(const Value& value);
bool same_value(const Value& a, const Value& b);
/// Whether a number fits an integer type.
bool fits(Wide number, const Type& type);
std::string decimal(Wide number);
/// Whether it or any part of it is not known at compile time.
bool has_runtime_parts(const Value& value);

}  // namespace tensorpress::csl
