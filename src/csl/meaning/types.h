// The types of CSL. Equal types are the same object, so that comparing them is comparing pointers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "csl/meaning/scalar.h"

namespace tensorpress::csl {

enum class TypeKind : std::uint8_t {
  nothing,  // void
  boolean,
  integer,
  real,
  comptime_integer,
  comptime_real,
  string,
  type,
  function,
  module,
  range,
  anonymous,
  undefined,
  pointer,
  array,
  structure,
  enumeration,
  color,
  input_queue,
  output_queue,
  microthread,
  data_task,
  local_task,
  control_task,
  direction,
  dsd,
  dsr,
};

enum class DsdKind : std::uint8_t { none, mem1d, mem4d, circbuf, fabin, fabout, fifo };
enum class DsrKind : std::uint8_t { destination, source0, source1 };

struct Type {
  TypeKind kind = TypeKind::nothing;
  std::string name = {};
  Scalar scalar =
      Scalar::none;   // what a register holds; none: known at compile time only, or large
  unsigned bits = 0;  // of integers
  const Type* element = nullptr;
  bool many = false;
  std::vector<std::int64_t> lengths = {};
  std::vector<std::string_view> fields = {};
  std::vector<const Type*> types = {};  // of the fields; parameters
  std::vector<Wide> values = {};        // of an enum
  DsdKind dsd = DsdKind::none;
  DsrKind dsr = DsrKind::destination;
  std::uint32_t bytes = 0;  // in SRAM; 0: never there

  bool is(TypeKind other) const { return kind == other; }
  bool is_integer() const { return is(TypeKind::integer) || is(TypeKind::comptime_integer); }
  bool is_number() const {
    return is_integer() || is(TypeKind::real) || is(TypeKind::comptime_real);
  }
  bool is_aggregate() const { return is(TypeKind::array) || is(TypeKind::structure); }
  bool is_runtime() const { return bytes != 0; }
  std::int64_t length() const;  // of arrays: of all dimensions
};

class Types {
 public:
  Types();
  const Type *nothing, *boolean, *comptime_integer, *comptime_real, *string, *type, *function,
      *module, *range, *undefined, *color, *input_queue, *output_queue, *microthread, *data_task,
      *local_task, *control_task, *direction, *u16, *u32, *i8, *i16, *i32, *f16, *f32, *u8,
      *string_number;

  const Type* integer(bool with_sign, unsigned bits);
  const Type* pointer(const Type* element, bool many);
  const Type* array(const Type* element, std::vector<std::int64_t> lengths);
  const Type* anonymous(std::vector<std::string_view> fields);
  const Type* dsd(DsdKind kind);
  const Type* dsr(DsrKind kind);
  /// A new type at every call: the caller keeps it by the place of its declaration.
  const Type* structure(std::vector<std::string_view> fields, std::vector<const Type*> types);
  const Type* enumeration(std::vector<std::string_view> names, std::vector<Wide> values,
                          const Type* stored);
  /// Of a name that the language defines, or null.
  const Type* named(std::string_view name);

 private:
  const Type* keep(Type made);
  std::map<std::string, std::unique_ptr<Type>, std::less<>> kept_;
  std::map<std::string_view, const Type*> names_;
  int counter_ = 0;
};

}  // namespace tensorpress::csl
