#include "csl/meaning/value.h"

#include <bit>

namespace tensorpress::csl {
namespace {

void show(const Value& value, std::string& out, int depth) {
  if (depth > 16) {
    out += "...";
    return;
  }
  if (value.where == Where::wrong) {
    out += "wrong";
    return;
  }
  if (value.where != Where::known) {
    out += "(at run time)";
    return;
  }
  if (value.parts) {
    out += value.type->is(TypeKind::anonymous) ? ".{" : value.type->name + "{";
    const std::size_t shown_items = value.parts->same ? 1 : value.parts->items.size();
    for (std::size_t k = 0; k < shown_items; ++k) {
      if (k != 0) out += ", ";
      if (k < value.type->fields.size()) out += "." + std::string(value.type->fields[k]) + " = ";
      show(value.parts->items[k], out, depth + 1);
    }
    if (value.parts->same) out += " x " + std::to_string(value.parts->count);
    out += "}";
  } else if (value.words) {
    out += "\"" + *value.words + "\"";
  } else if (value.meant != nullptr) {
    out += value.meant->name;
  } else if (value.function != nullptr) {
    out += std::string(value.function->name) + "@" +
           std::to_string(reinterpret_cast<std::uintptr_t>(value.module));
  } else if (value.module != nullptr) {
    out += "module " + std::to_string(reinterpret_cast<std::uintptr_t>(value.module));
  } else if (value.type->is(TypeKind::comptime_real) || value.type->is(TypeKind::real)) {
    out += std::to_string(value.real) + "(" +
           std::to_string(std::bit_cast<std::uint64_t>(value.real)) + ")";
  } else if (value.type->is(TypeKind::boolean)) {
    out += value.integer != 0 ? "true" : "false";
  } else if (value.type->is(TypeKind::nothing) || value.type->is(TypeKind::undefined)) {
    out += value.type->name;
  } else {
    if (!value.type->is(TypeKind::comptime_integer)) out += value.type->name + " ";
    Wide rest = value.integer < 0 ? -value.integer : value.integer;
    std::string digits;
    do {
      digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
      rest /= 10;
    } while (rest != 0);
    out += (value.integer < 0 ? "-" : "") + digits;
  }
}

}  // namespace

bool fits(Wide number, const Type& type) {
  if (type.is(TypeKind::comptime_integer)) return true;
  const bool with_sign = is_signed(type.scalar);
  const Wide one = 1;
  const unsigned bits = type.bits == 0 ? bits_of(type.scalar) : type.bits;
  const Wide most = (one << (with_sign ? bits - 1 : bits)) - 1;
  const Wide least = with_sign ? -(one << (bits - 1)) : Wide{0};
  return number >= least && number <= most;
}

std::string decimal(Wide number) {
  std::string digits;
  Wide rest = number < 0 ? -number : number;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  return (number < 0 ? "-" : "") + digits;
}

std::string shown(const Value& value) {
  std::string out;
  show(value, out, 0);
  return out;
}

bool same_value(const Value& a, const Value& b) {
  return a.type == b.type && shown(a) == shown(b);
}

bool has_runtime_parts(const Value& value) {
  if (value.where == Where::held || value.where == Where::memory) return true;
  if (value.parts) {
    for (const Value& item : value.parts->items) {
      if (has_runtime_parts(item)) return true;
    }
  }
  return false;
}

}  // namespace tensorpress::csl
