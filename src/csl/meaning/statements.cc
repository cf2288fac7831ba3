// Statements: run now, or made into code. A condition that is known at compile time chooses its
// branch in both modes, and the other branch is not looked at.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

Evaluator::Local& Evaluator::declare(std::string_view name, Value value, bool constant) {
  locals_.push_back({name, std::move(value), constant});
  Local& local = locals_.back();
  if (local.value.known() && !constant) local.value.slot = &local.value;
  return local;
}

void Evaluator::free_temporaries() {
  if (runtime()) builder().next = builder().kept;
}

void Evaluator::patch(const std::vector<std::size_t>& jumps) {
  for (const std::size_t jump : jumps) {
    builder().code.code[jump].where = static_cast<std::int32_t>(builder().code.code.size());
  }
}

std::size_t Evaluator::jump_unless(const Value& condition, Position at) {
  return emit({.code = Code::jump_unless, .a = in_register(condition, at)}, at);
}

Evaluator::Flow Evaluator::block(const Stmt& stmt) {
  const std::size_t locals = locals_.size();
  const std::uint32_t kept = runtime() ? builder().kept : 0;
  Flow flow = Flow::next;
  for (const Stmt* one : stmt.body) {
    flow = statement(*one);
    if (flow != Flow::next) break;
  }
  locals_.resize(locals);
  if (runtime()) {
    builder().kept = kept;
    builder().next = kept;
  }
  return flow;
}

Evaluator::Flow Evaluator::statement(const Stmt& stmt) {
  if (!step(stmt.at)) return Flow::returning;
  switch (stmt.kind) {
    case StmtKind::expression: {
      value(*stmt.a);
      free_temporaries();
      return Flow::next;
    }
    case StmtKind::variable:
      return variable(stmt);
    case StmtKind::assign:
      assign(stmt);
      free_temporaries();
      return Flow::next;
    case StmtKind::choice:
      return choice(stmt);
    case StmtKind::while_loop:
      return while_loop(stmt);
    case StmtKind::for_loop:
      return for_loop(stmt);
    case StmtKind::selection:
      return selection(stmt);
    case StmtKind::returning:
      return returning(stmt);
    case StmtKind::block:
      return block(stmt);
    case StmtKind::comptime: {
      const bool before = std::exchange(frame_->now, true);
      const Flow flow = block(*stmt.first);
      frame_->now = before;
      return flow;
    }
    case StmtKind::breaking:
    case StmtKind::continuing:
      if (runtime()) {
        if (builder().loops.empty()) {
          wrong(stmt.at, "there is no loop to leave here");
          return Flow::next;
        }
        Loop& loop = builder().loops.back();
        auto& jumps = stmt.kind == StmtKind::breaking ? loop.breaks : loop.continues;
        jumps.push_back(emit({.code = Code::jump}, stmt.at));
      }
      return stmt.kind == StmtKind::breaking ? Flow::breaking : Flow::continuing;
  }
  return Flow::next;
}

Evaluator::Flow Evaluator::variable(const Stmt& stmt) {
  const Type* type = stmt.type != nullptr ? type_of(*stmt.type) : nullptr;
  Value first;
  if (stmt.a != nullptr) {
    first = evaluated(*stmt.a, type);
  } else {
    first = known(types_.undefined, 0);
    if (type == nullptr) wrong(stmt.at, "a variable needs a type or a value");
  }
  const bool undefined = first.ok() && first.type->is(TypeKind::undefined);
  if (type != nullptr && first.ok() && !undefined) first = coerced(first, type, stmt.at);
  if (type == nullptr && first.ok()) type = first.type;
  if (!first.ok() || type == nullptr) {
    declare(stmt.name, {}, false);
    return Flow::next;
  }
  if (undefined && type->is(TypeKind::undefined)) {
    declare(stmt.name, wrong(stmt.at, "a variable needs a type", "Write : and its type."), false);
    return Flow::next;
  }
  if (!runtime()) {
    if (undefined) first.meant = type;
    first = loaded(first, stmt.at);
    first.slot = nullptr;
    if (first.parts && !stmt.constant) first.parts = std::make_shared<Parts>(*first.parts);
    Local& local = declare(stmt.name, std::move(first), stmt.constant);
    if (undefined) local.value.type = types_.undefined;
    return Flow::next;
  }
  if (stmt.constant && !undefined) {
    // A constant stays what it is; a register of a variable is copied, since that may change.
    if (first.where == Where::held && first.local != kNoRegister) {
      const std::uint16_t copy = fresh(stmt.at);
      emit({.code = Code::move, .a = copy, .b = first.held}, stmt.at);
      first = held_value(first.type, copy);
    }
    if (first.where == Where::memory && !first.type->is_aggregate()) first = loaded(first, stmt.at);
    if (builder().addressed->contains(stmt.name) && first.where == Where::held) {
      first = in_memory(first, stmt.at);
    } else if (first.where == Where::memory && !first.constant) {
      Value copy = memory_value(type, allocate(type->bytes, 4, std::string(stmt.name), stmt.at));
      store(copy, first, stmt.at);
      first = copy;
    }
    first.slot = nullptr;
    declare(stmt.name, first, true);
    if (has_runtime_parts(first)) builder().kept = builder().next;
    free_temporaries();
    return Flow::next;
  }
  type = defaulted(type);
  if (!type->is_runtime()) {
    // A variable that only a compiler can hold: allowed while nothing at run time changes it.
    declare(stmt.name, first, false);
    return Flow::next;
  }
  Value place;
  if (type->is_aggregate() || builder().addressed->contains(stmt.name)) {
    place = memory_value(
        type, allocate(type->bytes, type->bytes >= 4 ? 4 : 2, std::string(stmt.name), stmt.at));
    if (!undefined) store(place, coerced(first, type, stmt.at), stmt.at);
    free_temporaries();
  } else {
    std::uint16_t from = kNoRegister;
    if (!undefined) from = in_register(coerced(first, type, stmt.at), stmt.at);
    free_temporaries();
    const std::uint16_t to = fresh(stmt.at);
    if (from != kNoRegister && from != to) {
      emit({.code = Code::move, .a = to, .b = from}, stmt.at);
    }
    builder().kept = builder().next;
    place = held_value(type, to);
    place.local = to;
  }
  declare(stmt.name, place, false);
  return Flow::next;
}

void Evaluator::assign(const Stmt& stmt) {
  if (stmt.a->kind == ExprKind::name && stmt.a->name == "_") {
    value(*stmt.b);
    return;
  }
  const Value place = evaluated(*stmt.a);
  if (!place.ok()) {
    value(*stmt.b);
    return;
  }
  const Type* type = place.known() && place.type->is(TypeKind::undefined) && place.meant != nullptr
                         ? place.meant
                         : place.type;
  Value right = evaluated(*stmt.b, type);
  if (!right.ok()) return;
  if (stmt.op != Operator::none) {
    Value left = place;
    left.slot = nullptr;
    right = combined(stmt.op, loaded(left, stmt.at), loaded(right, stmt.at), stmt.at);
  }
  assign_to(place, right, stmt.at);
}

void Evaluator::assign_to(Value place, const Value& right, Position at) {
  if (!place.ok() || !right.ok()) return;
  if (place.constant) {
    wrong(at, "a constant cannot be assigned", "Declare it with var.");
    return;
  }
  if (place.where == Where::memory) {
    if (!runtime()) {
      wrong(at, "a tile's memory cannot be written at compile time",
            "Give the variable its value where it is declared, or assign in a function.");
      return;
    }
    store(place, coerced(right, place.type, at), at);
  } else if (place.where == Where::held && place.local != kNoRegister) {
    if (!runtime()) {
      wrong(at, "a variable of the run time cannot be assigned at compile time");
      return;
    }
    const std::uint16_t from = in_register(coerced(right, place.type, at), at);
    emit({.code = Code::move, .a = place.local, .b = from}, at);
  } else if (place.slot != nullptr) {
    if (runtime() && has_runtime_parts(right)) {
      wrong(at, "this variable is known at compile time only, the value is not",
            "Give the variable a type with a size.");
      return;
    }
    const Type* type =
        place.type->is(TypeKind::undefined) && place.meant != nullptr ? place.meant : place.type;
    Value made = type->is(TypeKind::anonymous) || type->is(TypeKind::undefined)
                     ? right
                     : coerced(right, type, at);
    Value* slot = place.slot;
    *slot = made;
    slot->slot = slot;
    if (slot->parts) slot->parts = std::make_shared<Parts>(*slot->parts);
  } else {
    wrong(at, "this cannot be assigned", "Only variables, their fields and their elements can.");
  }
}

Evaluator::Flow Evaluator::choice(const Stmt& stmt) {
  Value condition = value(*stmt.a);
  if (!condition.ok()) return Flow::next;
  condition = coerced(condition, types_.boolean, stmt.at);
  if (!condition.ok()) return Flow::next;
  const auto run = [this](const Stmt* branch) {
    if (branch == nullptr) return Flow::next;
    const std::size_t locals = locals_.size();
    const Flow flow = statement(*branch);
    locals_.resize(locals);
    return flow;
  };
  if (condition.known()) return run(condition.integer != 0 ? stmt.first : stmt.second);
  if (!runtime()) {
    wrong(stmt.at, "this condition is not known at compile time");
    return Flow::next;
  }
  const std::size_t over = jump_unless(condition, stmt.at);
  free_temporaries();
  const Flow first = run(stmt.first);
  if (stmt.second == nullptr) {
    patch({over});
    return Flow::next;
  }
  const std::size_t end = emit({.code = Code::jump}, stmt.at);
  patch({over});
  const Flow second = run(stmt.second);
  patch({end});
  return first == Flow::returning && second == Flow::returning ? Flow::returning : Flow::next;
}

Evaluator::Flow Evaluator::returning(const Stmt& stmt) {
  if (frame_->builder == nullptr || frame_->now) {
    if (stmt.a != nullptr) {
      Value made = loaded(evaluated(*stmt.a, frame_->result), stmt.at);
      if (made.ok() && frame_->result != nullptr) made = coerced(made, frame_->result, stmt.at);
      made.slot = nullptr;
      frame_->returned = made;
    } else {
      frame_->returned = nothing();
    }
    return Flow::returning;
  }
  const Type* result = builder().result;
  std::uint16_t held = kNoRegister;
  if (stmt.a != nullptr && (result == nullptr || result->is(TypeKind::nothing))) {
    value(*stmt.a);
  } else if (stmt.a != nullptr) {
    const Value made = coerced(evaluated(*stmt.a, result), result, stmt.at);
    if (made.ok() && result->is_aggregate()) {
      store(memory_value(result, builder().result_address), made, stmt.at);
      held = builder().result_register;
    } else if (made.ok()) {
      held = in_register(made, stmt.at);
    }
  } else if (result != nullptr && !result->is(TypeKind::nothing)) {
    wrong(stmt.at, "this function returns " + result->name, "Write return and a value.");
  }
  emit({.code = Code::leave, .a = held}, stmt.at);
  free_temporaries();
  return Flow::returning;
}

}  // namespace tensorpress::csl
