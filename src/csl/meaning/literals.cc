// Literals, types, and tensor accesses.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

Value Evaluator::literal(const Expr& expr, const Type* expected) {
  auto parts = std::make_shared<Parts>();
  for (std::size_t k = 0; k < expr.items.size(); ++k) {
    const Type* hint = nullptr;
    if (expected != nullptr && expected->is(TypeKind::structure)) {
      for (std::size_t f = 0; k < expr.names.size() && f < expected->fields.size(); ++f) {
        if (expected->fields[f] == expr.names[k]) hint = expected->types[f];
      }
    } else if (expected != nullptr && expected->is(TypeKind::array)) {
      hint = expected->element;
    }
    Value item = evaluated(*expr.items[k], hint);
    if (!item.ok()) return {};
    if (item.where == Where::memory && !item.type->is_aggregate()) item = loaded(item, expr.at);
    if (item.where == Where::held && item.local != kNoRegister) {
      const std::uint16_t copy = fresh(expr.at);
      emit({.code = Code::move, .a = copy, .b = item.held}, expr.at);
      item = held_value(item.type, copy);
    }
    item.slot = nullptr;
    parts->items.push_back(std::move(item));
  }
  for (std::size_t k = 0; k < expr.names.size(); ++k) {
    for (std::size_t j = 0; j < k; ++j) {
      if (expr.names[j] == expr.names[k]) {
        return wrong(expr.at, "the field '" + std::string(expr.names[k]) + "' is given twice");
      }
    }
  }
  parts->count = parts->items.size();
  Value made = known(types_.anonymous(expr.names), 0);
  made.parts = std::move(parts);
  if (expected != nullptr && (expected->is(TypeKind::structure) || expected->is(TypeKind::array))) {
    return coerced(made, expected, expr.at);
  }
  return made;
}

Value Evaluator::typed_literal(const Expr& expr) {
  const Type* type = type_of(*expr.a);
  if (type == nullptr) return {};
  if (type->is(TypeKind::structure)) return literal(expr, type);
  if (!type->is(TypeKind::array))
    return wrong(expr.at, "values of " + type->name + " have no list of parts");
  auto parts = std::make_shared<Parts>();
  for (const Expr* item : expr.items) {
    Value one = coerced(value(*item, type->element), type->element, item->at);
    if (!one.ok()) return {};
    if (one.where == Where::held && one.local != kNoRegister) {
      const std::uint16_t copy = fresh(expr.at);
      emit({.code = Code::move, .a = copy, .b = one.held}, expr.at);
      one = held_value(one.type, copy);
    }
    one.slot = nullptr;
    parts->items.push_back(std::move(one));
  }
  parts->count = parts->items.size();
  if (static_cast<std::int64_t>(parts->count) != type->length()) {
    return wrong(expr.at, type->name + " has " + std::to_string(type->length()) +
                              " elements, here are " + std::to_string(parts->count));
  }
  Value made = known(type, 0);
  made.parts = std::move(parts);
  return made;
}

const Type* Evaluator::type_of(const Expr& expr) {
  const bool before = std::exchange(frame_->now, true);
  const Value made = value(expr);
  frame_->now = before;
  if (!made.ok()) return nullptr;
  if (!made.type->is(TypeKind::type)) {
    wrong(expr.at, "a type is needed here, this is " + made.type->name);
    return nullptr;
  }
  return made.meant;
}

Value Evaluator::type_value(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::array_type: {
      std::vector<std::int64_t> lengths;
      Wide product = 1;
      for (const Expr* item : expr.items) {
        const Value length = known_value(*item, nullptr, "the length of an array");
        if (!length.ok()) return {};
        if (!length.type->is_integer() || length.integer < 0 || length.integer > (1 << 28)) {
          return wrong(item->at, "the length of an array is an integer from 0 to 2^28, here is " +
                                     shown(length));
        }
        lengths.push_back(static_cast<std::int64_t>(length.integer));
        product *= length.integer;
        if (product > (1 << 28)) return wrong(item->at, "this array has more than 2^28 elements");
      }
      const Type* element = type_of(*expr.a);
      if (element == nullptr) return {};
      return known_type(types_.array(element, std::move(lengths)));
    }
    case ExprKind::pointer_type: {
      const Type* element = type_of(*expr.a);
      return element == nullptr ? Value{} : known_type(types_.pointer(element, expr.many));
    }
    case ExprKind::function_type:
      return known_type(types_.function);
    case ExprKind::struct_type: {
      std::vector<const Type*> types;
      for (const Expr* item : expr.items) {
        types.push_back(type_of(*item));
        if (types.back() == nullptr) return {};
      }
      // The same expression with the same types of fields is the same type.
      const auto found = declared_types_.find(&expr);
      if (found != declared_types_.end() && found->second->types == types) {
        return known_type(found->second);
      }
      return known_type(declared_types_[&expr] = types_.structure(expr.names, std::move(types)));
    }
    case ExprKind::enum_type: {
      const auto found = declared_types_.find(&expr);
      if (found != declared_types_.end()) return known_type(found->second);
      const Type* stored = expr.a != nullptr ? type_of(*expr.a) : types_.u16;
      if (stored == nullptr) return {};
      if (!stored->is(TypeKind::integer)) return wrong(expr.at, "an enum is stored as an integer");
      std::vector<Wide> values;
      Wide next = 0;
      for (const Expr* item : expr.items) {
        if (item != nullptr) {
          const Value given = known_value(*item, stored, "the value of an enum");
          if (!given.ok()) return {};
          next = given.integer;
        }
        values.push_back(next++);
      }
      return known_type(declared_types_[&expr] =
                            types_.enumeration(expr.names, std::move(values), stored));
    }
    default:
      return wrong(expr.at, "unions are not supported yet", "Use a struct, or @bitcast.");
  }
}

/// |i, j|{n, m} -> array[f(i, j)]: the base address, the offset of the first element, and strides.
Value Evaluator::tensor_access(const Expr& expr) {
  Value base = evaluated(*expr.a);
  if (!base.ok()) return {};
  if (expr.a->kind == ExprKind::name && base.known() && base.type->is(TypeKind::array)) {
    Expr reference{.kind = ExprKind::address, .at = expr.at, .a = expr.a};
    base = address(reference);
  } else if (base.type->is(TypeKind::array)) {
    base = in_memory(base, expr.at);
  }
  if (base.ok() && base.type->is(TypeKind::pointer) && base.where == Where::memory)
    base = loaded(base, expr.at);
  if (!base.ok()) return {};
  const Type* type = base.type->is(TypeKind::pointer) ? base.type->element : base.type;
  const bool many = base.type->is(TypeKind::pointer) && base.type->many;
  if (!type->is(TypeKind::array) && !many) {
    return wrong(expr.at, "a tensor access needs an array, here is " + type->name);
  }
  const std::size_t dimensions = type->is(TypeKind::array) && !many ? type->lengths.size() : 1;
  if (expr.names.size() != expr.items.size() || expr.names.size() > 4) {
    return wrong(expr.at, "a tensor access has one to four variables and as many lengths");
  }
  if (expr.b->items.size() != dimensions) {
    return wrong(expr.at, "this tensor has " + std::to_string(dimensions) +
                              " dimensions, the access has " +
                              std::to_string(expr.b->items.size()) + " indices");
  }
  // The position of element (0, ..) and how it changes with each variable: indices are affine, so
  // three evaluations a variable tell slope and mistakes.
  const auto position = [&](const std::vector<std::int64_t>& at) -> Value {
    const std::size_t locals = locals_.size();
    for (std::size_t k = 0; k < expr.names.size(); ++k) {
      declare(expr.names[k], known(types_.comptime_integer, at[k]), true);
    }
    Value flat = known(types_.comptime_integer, 0);
    for (std::size_t k = 0; k < dimensions; ++k) {
      const Value one = known_value(*expr.b->items[k], nullptr, "the index of a tensor access");
      if (!one.ok()) {
        flat = {};
        break;
      }
      flat.integer = flat.integer * (many ? 1 : type->lengths[k]) + one.integer;
    }
    locals_.resize(locals);
    return flat;
  };
  std::vector<std::int64_t> zero(expr.names.size(), 0);
  const Value first = position(zero);
  if (!first.ok()) return {};
  std::vector<std::pair<std::string_view, Value>> slopes, lengths;
  for (std::size_t k = 0; k < expr.names.size(); ++k) {
    const Value length = known_value(*expr.items[k], nullptr, "the length of a tensor access");
    if (!length.ok()) return {};
    if (length.integer < 0 || length.integer > 0xffff) {
      return wrong(expr.items[k]->at,
                   "the length of a tensor access is 0 to 65535, here is " + shown(length));
    }
    lengths.emplace_back("", length);
    auto one = zero, two = zero;
    one[k] = 1;
    two[k] = 2;
    const Value a = position(one), b = position(two);
    if (!a.ok() || !b.ok()) return {};
    if (b.integer - a.integer != a.integer - first.integer) {
      return wrong(expr.at,
                   "the indices of a tensor access have to be affine in '" +
                       std::string(expr.names[k]) + "'",
                   "Write a * i + b.");
    }
    slopes.emplace_back("", known(types_.comptime_integer, a.integer - first.integer));
  }
  Value pointer = base;
  if (!base.type->is(TypeKind::pointer)) {
    pointer = base.held == kNoRegister
                  ? known(types_.pointer(type, false), base.address)
                  : wrong(expr.at, "the tensor of a tensor access has to be known");
    if (!pointer.ok()) return {};
  }
  return struct_of({{"base_address", pointer},
                    {"offset", known(types_.comptime_integer, first.integer)},
                    {"slopes", struct_of(std::move(slopes))},
                    {"extent", struct_of(std::move(lengths))}});
}

}  // namespace tensorpress::csl
