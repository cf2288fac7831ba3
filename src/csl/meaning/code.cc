// Emitting register code.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

std::size_t Evaluator::emit(Instruction instruction, Position at) {
  FunctionCode& code = builder().code;
  code.code.push_back(instruction);
  code.places.push_back(at);
  return code.code.size() - 1;
}

std::uint16_t Evaluator::fresh(Position at) {
  Builder& made = builder();
  if (made.next >= 60'000) {
    wrong(at, "this function has too many variables", "Split it.");
    made.next = made.kept;
    return 0;
  }
  const auto taken = static_cast<std::uint16_t>(made.next++);
  made.code.registers = std::max<std::uint16_t>(made.code.registers, taken + 1);
  return taken;
}

std::uint16_t Evaluator::constant_register(std::int64_t bits, Position at) {
  const auto [found, is_new] = constants_.try_emplace(bits, program_->constants.size());
  if (is_new) program_->constants.push_back(bits);
  const std::uint16_t to = fresh(at);
  emit({.code = Code::constant, .a = to, .where = static_cast<std::int32_t>(found->second)}, at);
  return to;
}

std::int64_t Evaluator::bits_of_known(const Value& value) {
  if (value.type->is(TypeKind::undefined)) return 0;
  if (value.type->is(TypeKind::real)) return bits_of_real(value.type->scalar, value.real);
  if (value.type->is(TypeKind::comptime_real)) return bits_of_real(Scalar::f32, value.real);
  return static_cast<std::int64_t>(value.integer);
}

Value Evaluator::held_value(const Type* type, std::uint16_t at) {
  Value made;
  made.where = Where::held;
  made.type = type;
  made.held = at;
  return made;
}

std::uint16_t Evaluator::in_register(const Value& value, Position at) {
  if (!value.ok()) return 0;
  if (frame_->builder == nullptr) {
    wrong(at, "this value is not known at compile time");
    return 0;
  }
  switch (value.where) {
    case Where::held:
      return value.held;
    case Where::memory:
      return in_register(loaded(value, at), at);
    default:
      break;
  }
  const Type* type = defaulted(value.type);
  if (type->scalar == Scalar::none && !value.type->is(TypeKind::undefined) &&
      !value.type->is(TypeKind::nothing)) {
    wrong(at, "a value of type " + value.type->name + " is known at compile time only");
    return 0;
  }
  return constant_register(bits_of_known(value.type == type ? value : coerced(value, type, at)),
                           at);
}

Value Evaluator::native(Hook hook, const Type* type, const Value& b, const Value& c, Position at) {
  const std::uint16_t first = b.ok() ? in_register(b, at) : kNoRegister;
  const std::uint16_t second = c.ok() ? in_register(c, at) : kNoRegister;
  const std::uint16_t to = fresh(at);
  emit({.code = Code::native,
        .scalar = b.ok() ? b.type->scalar : Scalar::none,
        .other = b.ok() && b.type == types_.string_number ? Scalar::boolean : Scalar::none,
        .part = static_cast<std::uint8_t>(hook),
        .a = to,
        .b = first,
        .c = second},
       at);
  return type->is(TypeKind::nothing) ? nothing() : held_value(type, to);
}

Value Evaluator::wrong(Position at, std::string message, std::string way_out) {
  all_.diagnostics.error(at, std::move(message), std::move(way_out));
  return {};
}

Value Evaluator::known(const Type* type, Wide integer) {
  Value made;
  made.where = Where::known;
  made.type = type;
  made.integer = integer;
  return made;
}

Value Evaluator::known_real(const Type* type, double real) {
  Value made = known(type, 0);
  made.real = type->is(TypeKind::comptime_real)
                  ? real
                  : static_cast<double>(real_of(type->scalar, bits_of_real(type->scalar, real)));
  return made;
}

Value Evaluator::known_type(const Type* type) {
  Value made = known(types_.type, 0);
  made.meant = type;
  return made;
}

Value Evaluator::known_text(std::string text) {
  Value made = known(types_.string, 0);
  made.words = std::make_shared<const std::string>(std::move(text));
  return made;
}

Value Evaluator::struct_of(std::vector<std::pair<std::string_view, Value>> fields) {
  std::vector<std::string_view> names;
  auto parts = std::make_shared<Parts>();
  for (auto& [name, value] : fields) {
    if (!name.empty()) names.push_back(name);
    parts->items.push_back(std::move(value));
  }
  parts->count = parts->items.size();
  Value made = known(types_.anonymous(std::move(names)), 0);
  made.parts = std::move(parts);
  return made;
}

const Value* Evaluator::part(const Value& value, std::string_view name) const {
  if (!value.ok() || !value.parts || value.parts->same) return nullptr;
  for (std::size_t k = 0; k < value.type->fields.size() && k < value.parts->items.size(); ++k) {
    if (value.type->fields[k] == name) return &value.parts->items[k];
  }
  return nullptr;
}

bool Evaluator::expects(const Expr& expr, std::size_t least, std::size_t most) {
  if (expr.items.size() >= least && expr.items.size() <= most) return true;
  wrong(expr.at, "@" + std::string(expr.name) + " takes " +
                     (least == most ? std::to_string(least)
                                    : std::to_string(least) + " to " + std::to_string(most)) +
                     " arguments, here are " + std::to_string(expr.items.size()));
  return false;
}

bool Evaluator::step(Position at) {
  if (all_.steps_left == 0) {
    wrong(at, "this program does not end at compile time (20 million steps were taken)",
          "Look for a loop whose condition never changes.");
    return false;
  }
  --all_.steps_left;
  return all_.diagnostics.errors() < 1000;
}

}  // namespace tensorpress::csl
