// Expressions: names, fields, elements, addresses and literals.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

Value Evaluator::value(const Expr& expr, const Type* expected) {
  return loaded(evaluated(expr, expected), expr.at);
}

Value Evaluator::known_value(const Expr& expr, const Type* expected, std::string_view what) {
  Value made = value(expr, expected);
  if (made.ok() && !made.known()) {
    return wrong(expr.at, std::string(what) + " has to be known at compile time",
                 "Use constants and params.");
  }
  return made;
}

Value Evaluator::evaluated(const Expr& expr, const Type* expected) {
  if (++depth_ > 1000) {
    --depth_;
    return wrong(expr.at, "this is nested too deeply", "Look for a recursion without end.");
  }
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};
  switch (expr.kind) {
    case ExprKind::name:
      return name(expr);
    case ExprKind::builtin:
      return builtin(expr);
    case ExprKind::call:
      return call(expr);
    case ExprKind::integer:
      return known(types_.comptime_integer, expr.integer);
    case ExprKind::real:
      return known_real(types_.comptime_real, expr.real);
    case ExprKind::string:
      return known_text(expr.words);
    case ExprKind::field:
      return field(expr);
    case ExprKind::enum_value: {
      if (expected != nullptr && expected->is(TypeKind::enumeration)) {
        return field_of(known_type(expected), expr.name, expr.at);
      }
      return wrong(expr.at, "the enum of '." + std::string(expr.name) + "' is not known here",
                   "Write it with the name of the enum in front.");
    }
    case ExprKind::dereference:
      return dereference(value(*expr.a), expr.at);
    case ExprKind::index:
      return index(expr);
    case ExprKind::unary:
      return unary(expr, expected);
    case ExprKind::binary:
      return binary(expr, expected);
    case ExprKind::address:
      return address(expr);
    case ExprKind::choice:
      return choice_value(expr, expected);
    case ExprKind::anonymous:
      return literal(expr, expected);
    case ExprKind::typed:
      return typed_literal(expr);
    case ExprKind::tensor_access:
      return tensor_access(expr);
    case ExprKind::block:
      return nothing();
    case ExprKind::forced: {
      const bool before = std::exchange(frame_->now, true);
      const Value made = value(*expr.a, expected);
      frame_->now = before;
      return made;
    }
    default:
      return type_value(expr);
  }
}

Value Evaluator::name(const Expr& expr) {
  for (std::size_t k = locals_.size(); k > frame_->first_local; --k) {
    Local& local = locals_[k - 1];
    if (local.name != expr.name) continue;
    Value made = local.value;
    if (local.constant) {
      made.constant = true;
      made.slot = nullptr;
    } else if (made.known()) {
      made.slot = &local.value;
    }
    return made;
  }
  const auto found = frame_->module->names.find(expr.name);
  if (found != frame_->module->names.end()) return global(*frame_->module, *found->second, expr.at);
  if (expr.name == "true") return known(types_.boolean, 1);
  if (expr.name == "false") return known(types_.boolean, 0);
  if (expr.name == "undefined") return known(types_.undefined, 0);
  static constexpr std::string_view kDirectionNames[] = {"EAST", "WEST", "NORTH", "SOUTH", "RAMP"};
  for (int k = 0; k < kDirections; ++k) {
    if (expr.name == kDirectionNames[k]) return known(types_.direction, k);
  }
  const Type* type = types_.named(expr.name);
  if (type != nullptr) return known_type(type);
  return wrong(expr.at, "'" + std::string(expr.name) + "' is not declared",
               "Declare it with const, var, param or fn, or check its spelling.");
}

Value Evaluator::field(const Expr& expr) {
  return field_of(evaluated(*expr.a), expr.name, expr.at);
}

Value Evaluator::field_of(Value base, std::string_view name, Position at) {
  if (!base.ok()) return {};
  if (base.type->is(TypeKind::module)) {
    const auto found = base.module->names.find(name);
    if (found != base.module->names.end()) return global(*base.module, *found->second, at);
    return wrong(at, base.module->path + " has no '" + std::string(name) + "'",
                 base.module->library
                     ? "docs/guide/wafer.md says which parts of libraries are supported."
                     : "Declare it there.");
  }
  if (base.type->is(TypeKind::type) && base.meant->is(TypeKind::enumeration)) {
    for (std::size_t k = 0; k < base.meant->fields.size(); ++k) {
      if (base.meant->fields[k] == name) return known(base.meant, base.meant->values[k]);
    }
    return wrong(at, "this enum has no '" + std::string(name) + "'");
  }
  if (base.type->is(TypeKind::pointer) && base.type->element->is(TypeKind::structure)) {
    base = dereference(loaded(base, at), at);
  }
  if (base.type->is(TypeKind::structure) && base.where == Where::memory) {
    std::uint32_t offset = 0;
    for (std::size_t k = 0; k < base.type->fields.size(); ++k) {
      if (base.type->fields[k] == name) {
        Value made = memory_value(base.type->types[k], base.address + offset, base.held);
        made.constant = base.constant;
        return made;
      }
      offset += base.type->types[k]->bytes;
    }
  }
  const Value* found = part(base, name);
  if (found != nullptr) {
    Value made = *found;
    made.slot = base.slot != nullptr ? const_cast<Value*>(found) : nullptr;
    if (base.slot != nullptr && base.slot->parts.use_count() > 1) {
      // Others share these fields: the variable gets fields of its own before one is assigned.
      base.slot->parts = std::make_shared<Parts>(*base.slot->parts);
      made.slot = const_cast<Value*>(part(*base.slot, name));
    }
    return made;
  }
  std::string names;
  for (const std::string_view field : base.type->fields) names += " " + std::string(field);
  return wrong(at, "there is no field '" + std::string(name) + "' in " + base.type->name,
               names.empty() ? "" : "Its fields are:" + names + ".");
}

Value Evaluator::dereference(const Value& pointer, Position at) {
  if (!pointer.ok()) return {};
  if (!pointer.type->is(TypeKind::pointer)) {
    return wrong(at, ".* needs a pointer, here is " + pointer.type->name);
  }
  if (pointer.known()) {
    if (pointer.slot != nullptr) {  // of a variable at compile time
      Value made = *pointer.slot;
      made.slot = pointer.slot;
      return made;
    }
    return memory_value(pointer.type->element, static_cast<std::uint32_t>(pointer.integer));
  }
  Value made = memory_value(pointer.type->element, 0, pointer.held);
  if (pointer.local != kNoRegister) {  // the pointer may move on while the place is in use
    made.held = fresh(at);
    emit({.code = Code::move, .a = made.held, .b = pointer.held}, at);
  }
  return made;
}

Value Evaluator::index(const Expr& expr) {
  Value base = evaluated(*expr.a);
  std::vector<Value> indices;
  for (const Expr* item : expr.items) indices.push_back(value(*item));
  if (!base.ok()) return {};
  for (const Value& one : indices) {
    if (!one.ok()) return {};
    if (!one.type->is_integer()) {
      return wrong(expr.at, "an index is an integer, here is " + one.type->name);
    }
  }
  return element(std::move(base), indices, expr.at);
}

Value Evaluator::element(Value base, const std::vector<Value>& indices, Position at) {
  if (base.type->is(TypeKind::pointer)) {
    base = loaded(base, at);
    if (!base.ok()) return {};
    if (!base.type->many) {
      base = dereference(base, at);
      if (!base.ok()) return {};
    }
  }
  const Type* type = base.type;
  const bool many = type->is(TypeKind::pointer);
  if (!many && !type->is(TypeKind::array) && !type->is(TypeKind::anonymous)) {
    return wrong(at, "only arrays, pointers [*] and tuples have elements, here is " + type->name);
  }
  const std::size_t dimensions = type->is(TypeKind::array) ? type->lengths.size() : 1;
  if (indices.size() != dimensions) {
    return wrong(at, std::to_string(dimensions) + " indices are needed, here are " +
                         std::to_string(indices.size()));
  }
  bool all_known = true;
  Wide flat = 0;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    if (!indices[k].known()) {
      all_known = false;
      continue;
    }
    if (!many) {
      const std::int64_t length = type->is(TypeKind::array)
                                      ? type->lengths[k]
                                      : static_cast<std::int64_t>(base.parts->count);
      if (indices[k].integer < 0 || indices[k].integer >= length) {
        return wrong(at, "the index " + shown(indices[k]) + " is outside of 0 to " +
                             std::to_string(length - 1));
      }
    }
  }
  if (all_known) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      flat = flat * (type->is(TypeKind::array) ? type->lengths[k] : 1) + indices[k].integer;
    }
  }
  if (base.known() && base.parts) {
    if (all_known) {
      if (base.slot != nullptr && (base.slot->parts.use_count() > 2 || base.slot->parts->same)) {
        auto own = std::make_shared<Parts>(*base.slot->parts);
        if (own->same) own->items.resize(own->count, own->items[0]);
        own->same = false;
        base.slot->parts = own;
        base.parts = own;
      }
      Value made = base.parts->items[base.parts->same ? 0 : static_cast<std::size_t>(flat)];
      made.slot =
          base.slot != nullptr ? &base.parts->items[static_cast<std::size_t>(flat)] : nullptr;
      return made;
    }
    if (type->is(TypeKind::anonymous)) {
      return wrong(at, "the index of a tuple has to be known at compile time");
    }
    base = in_memory(base, at);
    if (!base.ok()) return {};
  }
  const Type* item = type->element;
  if (item == nullptr || item->bytes == 0) return wrong(at, "elements of this have no size");
  std::uint32_t address = base.address;
  std::uint16_t held = base.held;
  if (many) {
    address = base.known() ? static_cast<std::uint32_t>(base.integer) : 0;
    held = base.known() ? kNoRegister : base.held;
  }
  // The part of the position that is known goes into the address, the rest into a register.
  std::int64_t weight = item->bytes;
  std::int64_t offset = 0;
  for (std::size_t k = indices.size(); k > 0; --k) {
    const Value& one = indices[k - 1];
    if (one.known()) {
      offset += weight * static_cast<std::int64_t>(one.integer);
    } else {
      const std::uint16_t to = fresh(at);
      emit({.code = Code::address,
            .a = to,
            .b = held,
            .c = one.held,
            .where = static_cast<std::int32_t>(weight)},
           at);
      held = to;
    }
    weight *= type->is(TypeKind::array) ? type->lengths[k - 1] : 1;
  }
  Value made = memory_value(item, static_cast<std::uint32_t>(address + offset), held);
  if (many && held == base.held && base.local != kNoRegister) {
    made.held = fresh(at);
    emit({.code = Code::move, .a = made.held, .b = held}, at);
  }
  made.constant = !many && base.constant;
  return made;
}

Value Evaluator::address(const Expr& expr) {
  // Of a global constant, too: it gets a place in memory.
  const Expr* inner = expr.a;
  Value place;
  if (inner->kind == ExprKind::name) {
    bool local = false;
    for (std::size_t k = locals_.size(); k > frame_->first_local; --k) {
      local = local || locals_[k - 1].name == inner->name;
    }
    const auto found = frame_->module->names.find(inner->name);
    if (!local && found != frame_->module->names.end() && program_ != nullptr &&
        (found->second->kind == DeclarationKind::constant ||
         found->second->kind == DeclarationKind::param)) {
      const Value named = global(*frame_->module, *found->second, expr.at);
      if (named.ok() && named.type->is_runtime() && !named.type->is(TypeKind::pointer)) {
        place = global_in_memory(*frame_->module, *found->second, expr.at);
      }
    }
  }
  if (!place.ok()) place = evaluated(*inner);
  if (!place.ok()) return {};
  if (place.known() && place.slot != nullptr) {
    Value made = known(types_.pointer(place.type, false), 0);
    made.slot = place.slot;
    return made;
  }
  if (place.type->is(TypeKind::function)) return place;
  place = in_memory(place, expr.at);
  if (!place.ok()) return {};
  const Type* type = types_.pointer(place.type, false);
  if (place.held == kNoRegister) return known(type, place.address);
  if (place.address == 0) return held_value(type, place.held);
  const std::uint16_t base = constant_register(static_cast<std::int64_t>(place.address), expr.at);
  const std::uint16_t to = fresh(expr.at);
  emit({.code = Code::compute,
        .op = Operator::add,
        .scalar = Scalar::u16,
        .a = to,
        .b = place.held,
        .c = base},
       expr.at);
  return held_value(type, to);
}

Value Evaluator::choice_value(const Expr& expr, const Type* expected) {
  Value condition = coerced(value(*expr.a), types_.boolean, expr.at);
  if (!condition.ok()) return {};
  if (condition.known()) {
    if (condition.integer != 0) return evaluated(*expr.b, expected);
    return expr.c != nullptr ? evaluated(*expr.c, expected) : nothing();
  }
  if (!runtime()) return wrong(expr.at, "this condition is not known at compile time");
  const std::uint16_t result = fresh(expr.at);
  const std::size_t over = jump_unless(condition, expr.at);
  Value first = value(*expr.b, expected);
  if (!first.ok()) return {};
  if (expected != nullptr && expected->is_runtime()) first = coerced(first, expected, expr.at);
  if (!first.ok()) return {};
  if (first.type->is(TypeKind::nothing)) {
    const std::size_t end = emit({.code = Code::jump}, expr.at);
    patch({over});
    if (expr.c != nullptr) value(*expr.c);
    patch({end});
    return nothing();
  }
  emit({.code = Code::move, .a = result, .b = in_register(first, expr.at)}, expr.at);
  const std::size_t end = emit({.code = Code::jump}, expr.at);
  patch({over});
  if (expr.c == nullptr) return wrong(expr.at, "an if that is a value needs an else");
  Value second = value(*expr.c, expected);
  const Type* type = defaulted(first.type);
  if (first.known() && second.ok() && !second.type->is(TypeKind::comptime_integer)) {
    type = defaulted(second.type);
    if (coerced(first, type, expr.at).ok() && type->is(TypeKind::real) &&
        first.type->is(TypeKind::comptime_integer)) {
      return wrong(expr.at, "the two values of this if have different types");
    }
  }
  second = coerced(second, type, expr.at);
  if (!second.ok()) return {};
  emit({.code = Code::move, .a = result, .b = in_register(second, expr.at)}, expr.at);
  patch({end});
  return held_value(type, result);
}

}  // namespace tensorpress::csl
