// Builtins that run operations on descriptors.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

bool Evaluator::configure(const Value& config, AsyncConfig& into, Position at) {
  if (!config.parts || !config.type->is(TypeKind::anonymous)) {
    wrong(at, "the configuration of an operation is a struct, as .{ .async = true }");
    return false;
  }
  for (std::size_t k = 0; k < config.type->fields.size(); ++k) {
    const std::string_view name = config.type->fields[k];
    const Value& value = config.parts->items[k];
    if (name == "async") {
      into.async = value.integer != 0;
    } else if (name == "activate") {
      into.done = action(value, ActionKind::activate, at);
    } else if (name == "unblock") {
      into.done = action(value, ActionKind::unblock, at);
    } else if (name == "on_control") {
      if (const Value* task = part(value, "activate"); task != nullptr) {
        into.on_control = action(*task, ActionKind::activate, at);
      } else if (const Value* other = part(value, "unblock"); other != nullptr) {
        into.on_control = action(*other, ActionKind::unblock, at);
      } else {
        into.on_control = {ActionKind::finish, kNoRegister};
      }
    } else if (name == "index") {
      into.index = in_register(value, at);
    } else if (name == "ut_id") {
      into.microthread = in_register(value, at);
    } else if (name == "priority") {
      into.priority = part(value, "high") != nullptr ? 2 : part(value, "medium") != nullptr ? 1 : 0;
    } else if (name != "save_address" && name != "single_step") {
      wrong(at, "an operation has no setting '" + std::string(name) + "'");
      return false;
    }
  }
  return true;
}

Operand Evaluator::operand(const Value& given, Scalar scalar, bool destination, Position at) {
  Value value = given;
  if (!value.ok()) return {};
  if (value.type->is(TypeKind::array)) {
    value = in_memory(value, at);
    if (!value.ok()) return {};
    value = value.held == kNoRegister ? known(types_.pointer(value.type, false), value.address)
                                      : wrong(at, "the address of this array is not known");
  }
  if (value.ok() && value.type->is(TypeKind::dsd)) {
    if (destination && value.type->dsd == DsdKind::fabin)
      wrong(at, "a fabin_dsd cannot be written");
    if (!destination && value.type->dsd == DsdKind::fabout)
      wrong(at, "a fabout_dsd cannot be read");
    return {OperandKind::descriptor, in_register(value, at), DsrKind::destination};
  }
  if (value.ok() && value.type->is(TypeKind::dsr)) {
    if (destination && value.type->dsr == DsrKind::source1)
      wrong(at, "a dsr_src1 cannot be a destination");
    return {OperandKind::dsr, static_cast<std::uint16_t>(value.integer), value.type->dsr};
  }
  if (destination) {
    if (!value.ok() || !value.type->is(TypeKind::pointer)) {
      wrong(at, "the destination is a DSD, a DSR or a pointer, here is " +
                    (value.ok() ? value.type->name : "something else"));
      return {};
    }
    return {OperandKind::address, in_register(value, at), DsrKind::destination};
  }
  const Type* wanted = nullptr;
  switch (scalar) {
    case Scalar::f32:
      wanted = types_.f32;
      break;
    case Scalar::f16:
      wanted = types_.f16;
      break;
    case Scalar::u32:
      wanted = types_.u32;
      break;
    case Scalar::i16:
      wanted = types_.i16;
      break;
    default:
      wanted = types_.u16;
      break;
  }
  if (value.ok() && !value.type->is_number() && value.type->scalar != Scalar::u16) {
    wrong(at, "an operand is a DSD, a DSR or a number, here is " + value.type->name);
    return {};
  }
  // Integers of the same width pass as bits.
  if (value.ok() && value.type->is_integer() && !is_real(scalar)) {
    if (value.known()) {
      const Wide least = -(Wide{1} << (bits_of(scalar) - 1)),
                 most = (Wide{1} << bits_of(scalar)) - 1;
      if (value.integer < least || value.integer > most)
        wrong(at, shown(value) + " does not fit in this operation");
      value = known(wanted, wrapped(scalar, static_cast<std::int64_t>(value.integer)));
    }
    return {OperandKind::scalar, in_register(value, at), DsrKind::destination};
  }
  value = coerced(value, wanted, at);
  return {OperandKind::scalar, in_register(value, at), DsrKind::destination};
}

Value Evaluator::dsd_operation(const Expr& expr, const OperationForm& form) {
  const std::size_t operands = 1u + form.sources;
  if (!expects(expr, operands, operands + 1)) return {};
  if (!runtime())
    return wrong(expr.at, "@" + std::string(expr.name) + " runs on the machine only",
                 "Call it in a function or a task.");
  DsdOperation made{.form = &form};
  std::vector<Value> values;
  for (std::size_t k = 0; k < operands; ++k) {
    Value one = evaluated(*expr.items[k], nullptr);
    if (one.ok() && !one.type->is_aggregate()) one = loaded(one, expr.at);
    if (!one.ok()) return {};
    values.push_back(one);
  }
  made.destination = operand(values[0], form.to, true, expr.items[0]->at);
  for (std::size_t k = 1; k < operands; ++k) {
    made.sources[k - 1] = operand(
        values[k], k == 3 ? (form.from == Scalar::f16 ? Scalar::f16 : form.from) : form.from, false,
        expr.items[k]->at);
  }
  if (expr.items.size() > operands) {
    const Value config = evaluated(*expr.items[operands]);
    if (!config.ok() || !configure(config, made.config, expr.at)) return {};
  }
  if (made.config.async) {
    bool fabric = false;
    for (const Value& one : values) {
      fabric = fabric ||
               (one.type->is(TypeKind::dsd) && one.type->dsd >= DsdKind::fabin &&
                one.type->dsd <= DsdKind::fabout) ||
               one.type->is(TypeKind::dsr);
    }
    if (!fabric)
      return wrong(expr.at, "only operations with a fabric operand can be asynchronous",
                   "Leave .async out.");
  }
  const std::uint16_t result = fresh(expr.at);
  emit({.code = Code::operation,
        .a = result,
        .where = static_cast<std::int32_t>(program_->operations.size())},
       expr.at);
  program_->operations.push_back(made);
  return held_value(types_.boolean, result);
}

Value Evaluator::map(const Expr& expr) {
  if (expr.items.size() < 2) return wrong(expr.at, "@map takes a function and its operands");
  if (!runtime()) return wrong(expr.at, "@map runs on the machine only");
  const Value function = value(*expr.items[0]);
  if (!function.ok()) return {};
  if (function.function == nullptr) return wrong(expr.at, "@map takes a function first");
  const std::size_t parameters = function.function->parameters.size();
  std::vector<Value> operands;
  for (std::size_t k = 1; k < expr.items.size(); ++k) {
    Value one = value(*expr.items[k]);
    if (!one.ok()) return {};
    if (one.type->is(TypeKind::dsr))
      return wrong(expr.items[k]->at, "DSRs in @map are not supported yet", "Give it the DSD.");
    if (one.type->is(TypeKind::dsd) && one.known())
      one = held_value(one.type, in_register(one, expr.at));
    operands.push_back(one);
  }
  if (operands.size() != parameters && operands.size() != parameters + 1) {
    return wrong(expr.at, "the function has " + std::to_string(parameters) +
                              " parameters, @map has " + std::to_string(operands.size()) +
                              " operands");
  }
  std::uint16_t length = kNoRegister;
  for (const Value& one : operands) {
    if (one.type->is(TypeKind::dsd) && length == kNoRegister) {
      length = fresh(expr.at);
      emit({.code = Code::map_length, .a = length, .b = one.held}, expr.at);
    }
  }
  if (length == kNoRegister) return wrong(expr.at, "@map needs a DSD among its operands");
  const std::uint16_t counter = fresh(expr.at), one_more = constant_register(1, expr.at),
                      test = fresh(expr.at);
  emit({.code = Code::move, .a = counter, .b = constant_register(0, expr.at)}, expr.at);
  const auto top = static_cast<std::int32_t>(builder().code.code.size());
  emit({.code = Code::compare,
        .op = Operator::less,
        .scalar = Scalar::u16,
        .a = test,
        .b = counter,
        .c = length},
       expr.at);
  const std::size_t leave = emit({.code = Code::jump_unless, .a = test}, expr.at);
  std::vector<Value> arguments;
  for (std::size_t k = 0; k < parameters; ++k) {
    const Value& one = operands[k];
    if (!one.type->is(TypeKind::dsd)) {
      arguments.push_back(one);
      continue;
    }
    Frame scope{.module = function.module, .now = true, .first_local = locals_.size()};
    Frame* before = std::exchange(frame_, &scope);
    const Expr* written = function.function->parameters[k].type;
    const Type* type = written != nullptr ? type_of(*written) : types_.f32;
    frame_ = before;
    if (type == nullptr) return {};
    const std::uint16_t to = fresh(expr.at);
    if (one.type->dsd == DsdKind::fabin) {
      emit({.code = Code::receive, .scalar = type->scalar, .a = to, .b = one.held}, expr.at);
    } else {
      const std::uint16_t place = fresh(expr.at);
      emit({.code = Code::map_address,
            .scalar = type->scalar,
            .a = place,
            .b = one.held,
            .c = counter},
           expr.at);
      emit({.code = Code::load, .scalar = type->scalar, .a = to, .b = place}, expr.at);
    }
    arguments.push_back(held_value(type, to));
  }
  const Value result = call_function(function, arguments, {}, expr.at);
  if (!result.ok()) return {};
  if (operands.size() > parameters) {
    const Value& target = operands.back();
    if (result.type->is(TypeKind::nothing))
      return wrong(expr.at, "the function of this @map has no result to store");
    if (target.type->is(TypeKind::pointer)) {
      store(dereference(target, expr.at), coerced(result, target.type->element, expr.at), expr.at);
    } else if (!target.type->is(TypeKind::dsd)) {
      return wrong(expr.at, "the last operand of @map is a DSD or a pointer");
    } else if (target.type->dsd == DsdKind::fabout) {
      emit({.code = Code::send,
            .scalar = result.type->scalar,
            .a = in_register(result, expr.at),
            .b = target.held},
           expr.at);
    } else {
      const std::uint16_t place = fresh(expr.at);
      emit({.code = Code::map_address,
            .scalar = result.type->scalar,
            .a = place,
            .b = target.held,
            .c = counter},
           expr.at);
      emit({.code = Code::store,
            .scalar = result.type->scalar,
            .a = in_register(result, expr.at),
            .b = place},
           expr.at);
    }
  }
  emit({.code = Code::compute,
        .op = Operator::add,
        .scalar = Scalar::u16,
        .a = counter,
        .b = counter,
        .c = one_more},
       expr.at);
  emit({.code = Code::jump, .where = top}, expr.at);
  patch({leave});
  return nothing();
}

}  // namespace tensorpress::csl
