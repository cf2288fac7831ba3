// Builtins about values and types.
#include <algorithm>

#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

std::span<const Evaluator::NamedBuiltin> Evaluator::value_builtins() {
  static constexpr NamedBuiltin kBuiltins[] = {
      {"as", &Evaluator::as},
      {"bitcast", &Evaluator::bitcast},
      {"ptrcast", &Evaluator::ptrcast},
      {"zeros", &Evaluator::zeros},
      {"constants", &Evaluator::constants},
      {"range", &Evaluator::range_of},
      {"range_start", &Evaluator::unsupported_builtin},
      {"type_of", &Evaluator::type_of_value},
      {"is_same_type", &Evaluator::is_same_type},
      {"is_arch", &Evaluator::is_arch},
      {"has_field", &Evaluator::has_field},
      {"field", &Evaluator::field_named},
      {"comptime_assert", &Evaluator::comptime_assert},
      {"assert", &Evaluator::runtime_assert},
      {"comptime_print", &Evaluator::comptime_print},
      {"concat_structs", &Evaluator::concat_structs},
      {"import_module", &Evaluator::import_module},
      {"get_color", &Evaluator::identifier},
      {"get_input_queue", &Evaluator::identifier},
      {"get_output_queue", &Evaluator::identifier},
      {"get_data_task_id", &Evaluator::identifier},
      {"get_local_task_id", &Evaluator::identifier},
      {"get_control_task_id", &Evaluator::identifier},
      {"get_ut_id", &Evaluator::identifier},
      {"get_int", &Evaluator::get_int},
      {"element_type", &Evaluator::array_facts},
      {"element_count", &Evaluator::array_facts},
      {"dimensions", &Evaluator::array_facts},
      {"rank", &Evaluator::array_facts},
      {"fp16", &Evaluator::fp16},
      {"strcat", &Evaluator::text_builtin},
      {"strlen", &Evaluator::text_builtin},
      {"get_array", &Evaluator::text_builtin},
      {"get_rectangle", &Evaluator::get_rectangle},
      {"hook", &Evaluator::native_hook},
  };
  return kBuiltins;
}

Value Evaluator::builtin(const Expr& expr) {
  for (const auto table : {value_builtins(), machine_builtins(), layout_builtins()}) {
    for (const NamedBuiltin& one : table) {
      if (one.name == expr.name) return (this->*one.call)(expr);
    }
  }
  const OperationForm* form = operation_named(expr.name);
  if (form != nullptr) return dsd_operation(expr, *form);
  return wrong(expr.at, "the builtin @" + std::string(expr.name) + " is not supported yet",
               "docs/guide/wafer.md lists the builtins that are.");
}

Value Evaluator::unsupported_builtin(const Expr& expr) {
  return wrong(expr.at, "the builtin @" + std::string(expr.name) + " is not supported yet",
               "docs/guide/wafer.md lists the builtins that are.");
}

Value Evaluator::as(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Type* type = type_of(*expr.items[0]);
  return converted_value(evaluated(*expr.items[1], type), type, expr.at);
}

Value Evaluator::bitcast(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Type* type = type_of(*expr.items[0]);
  Value from = value(*expr.items[1]);
  if (type == nullptr || !from.ok()) return {};
  from = coerced(from, from.type->is(TypeKind::comptime_integer) ? type : defaulted(from.type),
                 expr.at);
  if (!from.ok()) return {};
  if (type->scalar == Scalar::none || bits_of(type->scalar) != bits_of(from.type->scalar)) {
    return wrong(
        expr.at,
        "@bitcast keeps the number of bits; " + from.type->name + " and " + type->name + " differ",
        "Use @as to convert.");
  }
  if (from.known()) {
    const std::int64_t bits = bits_of_known(from);
    if (type->is(TypeKind::real)) {
      Value made = known(type, 0);
      made.real = static_cast<double>(real_of(type->scalar, bits));
      return made;
    }
    return known(type, wrapped(type->scalar, bits));
  }
  const std::uint16_t to = fresh(expr.at);
  // Registers hold integers extended by their sign, so the same bits may look different.
  const Scalar same_bits = bits_of(type->scalar) == 16   ? Scalar::u16
                           : bits_of(type->scalar) == 32 ? Scalar::u32
                                                         : Scalar::u64;
  const Scalar target = is_real(type->scalar) ? same_bits : type->scalar;
  emit({.code = Code::convert,
        .scalar = target,
        .other = Scalar::i64,
        .a = to,
        .b = in_register(from, expr.at)},
       expr.at);
  return held_value(type, to);
}

Value Evaluator::ptrcast(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Type* type = type_of(*expr.items[0]);
  Value from = value(*expr.items[1]);
  if (type == nullptr || !from.ok()) return {};
  if (!type->is(TypeKind::pointer) || from.type->scalar != Scalar::u16) {
    return wrong(expr.at, "@ptrcast takes a pointer type and a pointer");
  }
  from.type = type;
  return from;
}

Value Evaluator::zeros(const Expr& expr) {
  if (!expects(expr, 1, 1)) return {};
  const Type* type = type_of(*expr.items[0]);
  if (type == nullptr) return {};
  if (!type->is(TypeKind::array))
    return wrong(expr.at, "@zeros makes arrays, not " + type->name, "Write @zeros([n]f32).");
  return filled(type, expr,
                {type->element->is(TypeKind::real) ? known_real(type->element, 0.0)
                                                   : known(type->element, 0)});
}

Value Evaluator::filled(const Type* type, const Expr&, std::vector<Value> items) {
  auto parts = std::make_shared<Parts>();
  parts->items = std::move(items);
  parts->same = true;
  parts->count = static_cast<std::size_t>(type->length());
  Value made = known(type, 0);
  made.parts = std::move(parts);
  return made;
}

Value Evaluator::constants(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Type* type = type_of(*expr.items[0]);
  if (type == nullptr) return {};
  if (!type->is(TypeKind::array))
    return wrong(expr.at, "@constants makes arrays, not " + type->name);
  const Value item = coerced(value(*expr.items[1], type->element), type->element, expr.at);
  return item.ok() ? filled(type, expr, {item}) : Value{};
}

Value Evaluator::range_of(const Expr& expr) {
  if (!expects(expr, 2, 4)) return {};
  const Type* type = type_of(*expr.items[0]);
  if (type == nullptr) return {};
  if (!type->is_integer()) return wrong(expr.at, "a range has integers, not " + type->name);
  std::vector<Value> given;
  for (std::size_t k = 1; k < expr.items.size(); ++k) {
    Value one = loaded(value(*expr.items[k], type), expr.at);
    if (one.ok() && one.where == Where::held && one.type->is_integer() && one.type != type) {
      one = converted_value(one, type, expr.at);
    }
    one = coerced(one, type, expr.items[k]->at);
    if (!one.ok()) return {};
    one.slot = nullptr;
    given.push_back(one);
  }
  auto parts = std::make_shared<Parts>();
  parts->items = {given.size() == 1 ? known(type, 0) : given[0],
                  given.size() == 1 ? given[0] : given[1],
                  given.size() == 3 ? given[2] : known(type, 1)};
  parts->count = 3;
  if (parts->items[2].known() && parts->items[2].integer == 0)
    return wrong(expr.at, "a range's step is not 0");
  Value made = known(types_.range, 0);
  made.parts = std::move(parts);
  return made;
}

Value Evaluator::type_of_value(const Expr& expr) {
  if (!expects(expr, 1, 1)) return {};
  const Value made = evaluated(*expr.items[0]);
  return made.ok() ? known_type(made.type) : Value{};
}

Value Evaluator::is_same_type(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Type *a = type_of(*expr.items[0]), *b = type_of(*expr.items[1]);
  return a == nullptr || b == nullptr ? Value{} : known(types_.boolean, a == b ? 1 : 0);
}

Value Evaluator::is_arch(const Expr& expr) {
  if (!expects(expr, 1, 1)) return {};
  const Value name = known_value(*expr.items[0], types_.string, "the name of an architecture");
  if (!name.ok()) return {};
  if (!name.words) return wrong(expr.at, "@is_arch takes a string, as \"wse2\"");
  const bool is = *name.words == (all_.architecture == Architecture::wse2 ? "wse2" : "wse3");
  return known(types_.boolean, is ? 1 : 0);
}

Value Evaluator::has_field(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Value base = evaluated(*expr.items[0]);
  const Value name = known_value(*expr.items[1], types_.string, "the name of a field");
  if (!base.ok() || !name.ok() || !name.words) return {};
  const auto& fields = base.type->fields;
  return known(types_.boolean, std::ranges::find(fields, *name.words) != fields.end() ? 1 : 0);
}

Value Evaluator::field_named(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Value name = known_value(*expr.items[1], types_.string, "the name of a field");
  if (!name.ok() || !name.words) return {};
  return field_of(evaluated(*expr.items[0]), *name.words, expr.at);
}

Value Evaluator::comptime_assert(const Expr& expr) {
  if (!expects(expr, 1, 2)) return {};
  const Value condition = coerced(known_value(*expr.items[0], types_.boolean, "this condition"),
                                  types_.boolean, expr.at);
  if (!condition.ok()) return {};
  if (condition.integer != 0) return nothing();
  std::string message = "this assertion does not hold at compile time";
  if (expr.items.size() == 2) {
    const Value words = known_value(*expr.items[1], types_.string, "the message");
    if (words.ok() && words.words) message += ": " + *words.words;
  }
  return wrong(expr.at, message, "Look at the params that it depends on.");
}

Value Evaluator::runtime_assert(const Expr& expr) {
  if (!runtime()) return comptime_assert(expr);
  if (!expects(expr, 1, 1)) return {};
  const Value condition = coerced(value(*expr.items[0]), types_.boolean, expr.at);
  if (!condition.ok()) return {};
  emit({.code = Code::check, .a = in_register(condition, expr.at)}, expr.at);
  return nothing();
}

Value Evaluator::array_facts(const Expr& expr) {
  if (!expects(expr, 1, 1)) return {};
  const Type* type = type_of(*expr.items[0]);
  if (type == nullptr) return {};
  if (!type->is(TypeKind::array)) return wrong(expr.at, "this builtin takes the type of an array");
  if (expr.name == "element_type") return known_type(type->element);
  if (expr.name == "element_count") return known(types_.u32, type->length());
  if (expr.name == "rank") return known(types_.u16, static_cast<Wide>(type->lengths.size()));
  auto parts = std::make_shared<Parts>();
  for (const std::int64_t length : type->lengths) parts->items.push_back(known(types_.u32, length));
  parts->count = parts->items.size();
  Value made = known(types_.array(types_.u32, {static_cast<std::int64_t>(parts->count)}), 0);
  made.parts = std::move(parts);
  return made;
}

Value Evaluator::fp16(const Expr&) {
  return known_type(types_.f16);
}

Value Evaluator::text_builtin(const Expr& expr) {
  if (!expects(expr, 1, 16)) return {};
  std::string words;
  for (const Expr* item : expr.items) {
    const Value one = known_value(*item, types_.string, "this string");
    if (!one.ok()) return {};
    if (!one.words) return wrong(item->at, "a string is needed here, this is " + one.type->name);
    words += *one.words;
  }
  if (words.size() > (1u << 20)) return wrong(expr.at, "this string is longer than 1 MB");
  if (expr.name == "strlen") return known(types_.u16, static_cast<Wide>(words.size()));
  if (expr.name == "strcat") return known_text(std::move(words));
  auto parts = std::make_shared<Parts>();
  for (const char c : words)
    parts->items.push_back(known(types_.u8, static_cast<unsigned char>(c)));
  parts->count = parts->items.size();
  Value made = known(types_.array(types_.u8, {static_cast<std::int64_t>(parts->count)}), 0);
  made.parts = std::move(parts);
  return made;
}

}  // namespace tensorpress::csl
