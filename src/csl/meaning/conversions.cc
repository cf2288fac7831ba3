// Conversions: implicit ones where a type is asked for, and @as.
#include <cmath>

#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

/// What a variable has that is given a literal: comptime_int becomes i16, comptime_float f32.
const Type* Evaluator::defaulted(const Type* type) {
  if (type->is(TypeKind::comptime_integer)) return types_.i16;
  if (type->is(TypeKind::comptime_real)) return types_.f32;
  return type;
}

Value Evaluator::loaded(Value value, Position at) {
  if (value.where != Where::memory || value.type->is_aggregate()) return value;
  if (!runtime()) {
    return wrong(at, "this value is in the tile's memory and not known at compile time",
                 "Use a const, or move this into a function.");
  }
  const std::uint16_t to = fresh(at);
  emit({.code = Code::load,
        .scalar = value.type->scalar,
        .a = to,
        .b = value.held,
        .where = static_cast<std::int32_t>(value.address)},
       at);
  return held_value(value.type, to);
}

Value Evaluator::coerced(const Value& value, const Type* type, Position at) {
  if (!value.ok() || type == nullptr) return {};
  const Type* from = value.type;
  if (from == type || from->is(TypeKind::undefined)) {
    return value;
  }
  if (type->is_integer() && from->is_integer() && value.known()) {
    if (!fits(value.integer, *type)) {
      return wrong(at, decimal(value.integer) + " does not fit in " + type->name,
                   "Take a wider type, or cut it with @as and a mask.");
    }
    return known(type, value.integer);
  }
  if (value.known() && (type->is(TypeKind::real) || type->is(TypeKind::comptime_real))) {
    if (from->is(TypeKind::comptime_integer))
      return known_real(type, static_cast<double>(value.integer));
    if (from->is(TypeKind::comptime_real)) return known_real(type, value.real);
    if (from->is(TypeKind::real) && type->is(TypeKind::comptime_real))
      return known_real(type, value.real);
  }
  if (from->is_integer() && type->is(TypeKind::integer) && value.where == Where::held &&
      bits_of(type->scalar) >= bits_of(from->scalar) &&
      (is_signed(type->scalar) == is_signed(from->scalar) ||
       (!is_signed(from->scalar) && bits_of(type->scalar) > bits_of(from->scalar)))) {
    return held_value(type, value.held);  // wider: the register has all bits already
  }
  if (value.where == Where::memory && !from->is_aggregate())
    return coerced(loaded(value, at), type, at);
  if (type->is(TypeKind::pointer) && from->is(TypeKind::pointer)) {
    const Type* to_element = type->element;
    const Type* from_element = from->element;
    const bool same = to_element == from_element ||
                      (from_element->is(TypeKind::array) && from_element->element == to_element) ||
                      (to_element->is(TypeKind::array) && to_element->element == from_element) ||
                      (to_element->is(TypeKind::array) && from_element->is(TypeKind::array) &&
                       to_element->element == from_element->element &&
                       to_element->length() <= from_element->length());
    if (same) {
      Value made = value;
      made.type = type;
      made.slot = nullptr;
      made.local = kNoRegister;
      return made;
    }
  }
  if (type->is(TypeKind::function) && from->is(TypeKind::function)) return value;
  if (type->is(TypeKind::structure) && from->is(TypeKind::anonymous)) {
    auto parts = std::make_shared<Parts>();
    for (std::size_t k = 0; k < type->fields.size(); ++k) {
      const Value* given = part(value, type->fields[k]);
      if (given == nullptr) {
        return wrong(at, "the field '" + std::string(type->fields[k]) + "' is missing");
      }
      parts->items.push_back(coerced(*given, type->types[k], at));
    }
    parts->count = parts->items.size();
    Value made = known(type, 0);
    made.parts = std::move(parts);
    return made;
  }
  if (type->is(TypeKind::array) && value.known() && value.parts &&
      (from->is(TypeKind::array) || (from->is(TypeKind::anonymous) && from->fields.empty()))) {
    if (static_cast<std::int64_t>(value.parts->count) != type->length()) {
      return wrong(at, "an array of " + std::to_string(type->length()) +
                           " elements is needed, here are " + std::to_string(value.parts->count));
    }
    auto parts = std::make_shared<Parts>();
    parts->same = value.parts->same;
    parts->count = value.parts->count;
    for (const Value& item : value.parts->items) {
      parts->items.push_back(coerced(item, type->element, at));
      if (!parts->items.back().ok()) return {};
    }
    Value made = known(type, 0);
    made.parts = std::move(parts);
    return made;
  }
  if (type->is(TypeKind::anonymous) && from->is(TypeKind::anonymous)) return value;
  if (type->is(TypeKind::boolean) && from->is_integer()) {
    return wrong(at, "a condition is a bool, here is " + from->name, "Compare: != 0.");
  }
  return wrong(
      at, "a value of type " + type->name + " is needed, here is " + from->name,
      type->is_number() && from->is_number() ? "Convert with @as(" + type->name + ", ...)." : "");
}

/// @as: between numbers and booleans, and of an enum to its number and back.
Value Evaluator::converted_value(const Value& given, const Type* type, Position at) {
  if (!given.ok() || type == nullptr) return {};
  Value value = loaded(given, at);
  if (!value.ok()) return {};
  const Type* from = value.type;
  if (from == type) {
    value.local = kNoRegister;
    return value.where == Where::held ? held_value(type, value.held) : value;
  }
  const bool number_like = from->is_number() || from->is(TypeKind::boolean) ||
                           from->is(TypeKind::enumeration) || from->scalar == Scalar::u16;
  const bool to_number = type->is_number() || type->is(TypeKind::boolean) ||
                         type->is(TypeKind::enumeration) || type->scalar == Scalar::u16;
  if (!number_like || !to_number) {
    return wrong(at, "@as cannot make " + type->name + " of " + from->name,
                 "@as converts numbers and booleans; @bitcast and @ptrcast reinterpret.");
  }
  if (value.known()) {
    if (type->is(TypeKind::comptime_integer)) {
      if (from->is(TypeKind::real) || from->is(TypeKind::comptime_real)) {
        return known(type, static_cast<Wide>(std::trunc(value.real)));
      }
      return known(type, value.integer);
    }
    if (type->is(TypeKind::comptime_real)) {
      return known_real(type, from->is_integer() ? static_cast<double>(value.integer) : value.real);
    }
    if (from->is(TypeKind::comptime_real) || from->is(TypeKind::real)) {
      if (type->is(TypeKind::real)) return known_real(type, value.real);
      if (type->is(TypeKind::boolean)) return known(type, value.real == 0.0 ? 0 : 1);
      const double whole = std::trunc(value.real);
      if (!(std::fabs(whole) < 1e18)) return wrong(at, "this number does not fit in " + type->name);
      return known(type, wrapped(type->scalar, static_cast<std::int64_t>(whole)));
    }
    if (type->is(TypeKind::real)) return known_real(type, static_cast<double>(value.integer));
    return known(type,
                 converted(Scalar::i64, type->scalar, static_cast<std::int64_t>(value.integer)));
  }
  if (!type->is_runtime()) {
    return wrong(at, "this value is not known at compile time, so it cannot be " + type->name);
  }
  const std::uint16_t to = fresh(at);
  emit({.code = Code::convert,
        .scalar = type->scalar,
        .other = from->scalar,
        .a = to,
        .b = in_register(value, at)},
       at);
  return held_value(type, to);
}

}  // namespace tensorpress::csl
