// Calls: run at compile time, or compiled once for every combination of what is known and of types.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {
namespace {

void find_addressed(const Stmt* stmt, std::set<std::string_view>& names);

const Expr* base_of(const Expr* expr) {
  while (expr->kind == ExprKind::field || expr->kind == ExprKind::index) expr = expr->a;
  return expr;
}

void find_addressed(const Expr* expr, std::set<std::string_view>& names) {
  if (expr == nullptr) return;
  if (expr->kind == ExprKind::address || expr->kind == ExprKind::tensor_access) {
    const Expr* base = base_of(expr->a);
    if (base->kind == ExprKind::name) names.insert(base->name);
  }
  find_addressed(expr->a, names);
  find_addressed(expr->b, names);
  find_addressed(expr->c, names);
  for (const Expr* item : expr->items) find_addressed(item, names);
}

void find_addressed(const Stmt* stmt, std::set<std::string_view>& names) {
  if (stmt == nullptr) return;
  find_addressed(stmt->a, names);
  find_addressed(stmt->b, names);
  find_addressed(stmt->first, names);
  find_addressed(stmt->second, names);
  for (const Stmt* one : stmt->body) find_addressed(one, names);
  for (const Case& one : stmt->cases) find_addressed(one.body, names);
}

bool only_known(const Type* type) {
  return !type->is_runtime() && !type->is(TypeKind::nothing);
}

}  // namespace

const std::set<std::string_view>& Evaluator::addressed_in(const Declaration& function) {
  const auto [place, fresh_entry] = addressed_.try_emplace(&function);
  if (fresh_entry) find_addressed(function.body, place->second);
  return place->second;
}

Value Evaluator::call(const Expr& expr) {
  const Value function = value(*expr.a);
  if (!function.ok()) return {};
  if (!function.type->is(TypeKind::function) || function.function == nullptr) {
    return wrong(expr.at, "this cannot be called, it is " + function.type->name);
  }
  return call_function(function, {}, expr.items, expr.at);
}

Value Evaluator::call_function(const Value& function, std::vector<Value> arguments,
                               const std::vector<const Expr*>& expressions, Position at) {
  const Declaration& declared = *function.function;
  const std::size_t count = arguments.empty() ? expressions.size() : arguments.size();
  if (declared.body == nullptr)
    return wrong(at, "the body of '" + std::string(declared.name) + "' is elsewhere");
  if (count != declared.parameters.size()) {
    return wrong(at, "'" + std::string(declared.name) + "' takes " +
                         std::to_string(declared.parameters.size()) + " arguments, here are " +
                         std::to_string(count));
  }
  // Types of parameters may name parameters in front of them: they are evaluated in a scope of the
  // called module, arguments in that of the caller.
  std::vector<Bound> bound;
  bool all_known = true;
  Frame scope{.module = function.module, .now = true};
  for (std::size_t k = 0; k < count; ++k) {
    const Parameter& parameter = declared.parameters[k];
    const Type* type = nullptr;
    if (parameter.type != nullptr) {
      scope.first_local = locals_.size();
      for (const Bound& one : bound) declare(one.name, one.value, true);
      Frame* before = std::exchange(frame_, &scope);
      type = type_of(*parameter.type);
      frame_ = before;
      locals_.resize(scope.first_local);
      if (type == nullptr) return {};
    }
    Value argument = arguments.empty() ? evaluated(*expressions[k], type) : arguments[k];
    if (!argument.ok()) return {};
    if (type != nullptr) argument = coerced(argument, type, at);
    if (!argument.ok()) return {};
    if (argument.where == Where::memory && !argument.type->is_aggregate())
      argument = loaded(argument, at);
    argument.slot = argument.type->is(TypeKind::pointer) ? argument.slot : nullptr;
    const bool known_parameter = parameter.comptime || only_known(argument.type);
    if (known_parameter && !argument.known()) {
      return wrong(
          at, "the argument '" + std::string(parameter.name) + "' has to be known at compile time");
    }
    if (known_parameter && has_runtime_parts(argument)) {
      return wrong(at, "a struct with parts of the run time cannot be an argument yet",
                   "Pass its fields one by one.");
    }
    all_known = all_known && argument.known();
    bound.push_back({parameter.name, argument, !known_parameter});
  }
  const Type* result = types_.nothing;
  if (declared.type != nullptr) {
    scope.first_local = locals_.size();
    for (const Bound& one : bound) declare(one.name, one.value, true);
    Frame* before = std::exchange(frame_, &scope);
    result = type_of(*declared.type);
    frame_ = before;
    locals_.resize(scope.first_local);
    if (result == nullptr) return {};
  }
  if (!runtime() || (only_known(result) && all_known)) {
    if (!all_known) {
      return wrong(at, "'" + std::string(declared.name) +
                           "' cannot run at compile time: its arguments are not known");
    }
    return interpreted(function, bound, result, at);
  }
  if (declared.kind == DeclarationKind::task) {
    return wrong(at, "a task is not called, it is activated", "Use @activate with its task id.");
  }
  // Arguments into a block of registers at the top of this frame.
  std::vector<std::uint16_t> registers;
  for (Bound& one : bound) {
    if (!one.runtime) continue;
    if (one.value.type->is_aggregate()) {
      const Value place = in_memory(one.value, at);
      if (!place.ok()) return {};
      std::uint16_t held = place.held;
      if (held == kNoRegister) {
        held = constant_register(static_cast<std::int64_t>(place.address), at);
      } else if (place.address != 0) {
        const std::uint16_t base = constant_register(static_cast<std::int64_t>(place.address), at);
        held = fresh(at);
        emit({.code = Code::compute,
              .op = Operator::add,
              .scalar = Scalar::u16,
              .a = held,
              .b = place.held,
              .c = base},
             at);
      }
      registers.push_back(held);
    } else {
      registers.push_back(in_register(one.value, at));
    }
  }
  const int index = instance_of(function, bound, result);
  const std::uint16_t first = fresh(at);
  for (std::size_t k = 1; k < registers.size(); ++k) fresh(at);
  for (std::size_t k = 0; k < registers.size(); ++k) {
    emit({.code = Code::move, .a = static_cast<std::uint16_t>(first + k), .b = registers[k]}, at);
  }
  emit({.code = Code::call, .a = first, .where = index}, at);
  builder().next = first + 1u;
  if (result->is(TypeKind::nothing)) return nothing();
  if (result->is_aggregate()) {
    // The callee's place is used again by its next call.
    const Value given = memory_value(result, 0, first);
    Value copy = memory_value(result, allocate(result->bytes, 4, "result", at));
    store(copy, given, at);
    return copy;
  }
  return held_value(result, first);
}

Value Evaluator::interpreted(const Value& function, const std::vector<Bound>& parameters,
                             const Type* result, Position at) {
  if (!step(at)) return {};
  if (depth_ > 800)
    return wrong(at, "calls at compile time are nested too deeply",
                 "Look for a recursion without end.");
  depth_ += 4;
  Frame frame{
      .module = function.module, .now = true, .first_local = locals_.size(), .result = result};
  for (const Bound& one : parameters) declare(one.name, one.value, true);
  Frame* before = std::exchange(frame_, &frame);
  const std::size_t errors = all_.diagnostics.errors();
  const Flow flow = block(*function.function->body);
  frame_ = before;
  locals_.resize(frame.first_local);
  depth_ -= 4;
  if (all_.diagnostics.errors() != errors) {
    all_.diagnostics.note(at, "called at compile time from here");
    return {};
  }
  if (flow == Flow::returning && frame.returned.ok()) return frame.returned;
  if (!result->is(TypeKind::nothing)) {
    return wrong(at, "'" + std::string(function.function->name) + "' ends without a value");
  }
  return nothing();
}

int Evaluator::instance_of(const Value& function, std::vector<Bound> parameters,
                           const Type* result) {
  std::string key = shown(function);
  for (const Bound& one : parameters) {
    key += "|" + (one.runtime ? one.value.type->name : shown(one.value));
  }
  const auto found = instances_.find(key);
  if (found != instances_.end()) return found->second;
  const int index = static_cast<int>(program_->functions.size());
  instances_[key] = index;
  program_->functions.push_back({.name = std::string(function.function->name)});
  pending_.push_back({index, function.module, function.function, std::move(parameters), result});
  return index;
}

/// Of a function that the machine or the host calls: its parameters are registers.
int Evaluator::plain_instance(const Value& function, Position at) {
  const Declaration& declared = *function.function;
  if (declared.body == nullptr) {
    wrong(at, "the body of '" + std::string(declared.name) + "' is elsewhere");
    return -1;
  }
  Frame scope{.module = function.module, .now = true, .first_local = locals_.size()};
  Frame* before = std::exchange(frame_, &scope);
  std::vector<Bound> bound;
  bool fine = true;
  for (const Parameter& parameter : declared.parameters) {
    const Type* type = parameter.type != nullptr ? type_of(*parameter.type) : nullptr;
    if (type == nullptr || type->scalar == Scalar::none) {
      wrong(parameter.at, "this parameter has to be a number, a pointer or an identifier here");
      fine = false;
      continue;
    }
    bound.push_back({parameter.name, held_value(type, 0), true});
  }
  const Type* result = declared.type != nullptr ? type_of(*declared.type) : types_.nothing;
  frame_ = before;
  if (!fine || result == nullptr) return -1;
  return instance_of(function, std::move(bound), result);
}

void Evaluator::compile(const Instance& instance) {
  Builder made;
  made.code.name = std::string(instance.function->name);
  made.result = instance.result;
  made.addressed = &addressed_in(*instance.function);
  Frame frame{
      .module = instance.module, .now = false, .first_local = locals_.size(), .builder = &made};
  frame_ = &frame;
  const Position at = instance.function->at;
  if (instance.result->is_aggregate()) {
    made.result_address = allocate(instance.result->bytes, 4, made.code.name + "'s result", at);
  }
  std::uint16_t next = 0;
  for (const Bound& one : instance.parameters)
    next = static_cast<std::uint16_t>(next + (one.runtime ? 1 : 0));
  made.next = made.kept = next;
  made.code.registers = std::max<std::uint16_t>(next, 1);
  next = 0;
  for (const Bound& one : instance.parameters) {
    if (!one.runtime) {
      declare(one.name, one.value, true);
      continue;
    }
    Value place = held_value(one.value.type, next);
    if (one.value.type->is_aggregate()) {
      place = memory_value(one.value.type, 0, next);
      place.constant = true;
    } else if (made.addressed->contains(one.name)) {
      place = memory_value(one.value.type,
                           allocate(one.value.type->bytes, 4, std::string(one.name), at));
      store(place, held_value(one.value.type, next), at);
    }
    place.local = one.value.type->is_aggregate() ? kNoRegister : next;
    declare(one.name, place, false);
    ++next;
  }
  if (instance.result->is_aggregate()) {  // comes back as the address of its place
    made.result_register = constant_register(static_cast<std::int64_t>(made.result_address), at);
    made.kept = made.next;
  }
  const Flow flow = block(*instance.function->body);
  if (flow != Flow::returning) {
    emit({.code = Code::leave, .a = made.result_register}, instance.function->body->at);
  }
  locals_.resize(frame.first_local);
  frame_ = nullptr;
  program_->functions[static_cast<std::size_t>(instance.index)] = std::move(made.code);
}

}  // namespace tensorpress::csl
