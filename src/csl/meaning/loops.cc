// Loops and switch.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

Evaluator::Flow Evaluator::while_loop(const Stmt& stmt) {
  if (!runtime() || stmt.forced) {
    for (;;) {
      if (!step(stmt.at)) return Flow::returning;
      const Value condition = known_value(*stmt.a, types_.boolean, "the condition of this loop");
      if (!condition.ok() || condition.integer == 0) return Flow::next;
      const Flow flow = statement(*stmt.first);
      if (flow == Flow::breaking) return Flow::next;
      if (flow == Flow::returning) return flow;
      if (stmt.second != nullptr) statement(*stmt.second);
    }
  }
  const auto top = static_cast<std::int32_t>(builder().code.code.size());
  const Value condition = value(*stmt.a);
  if (!condition.ok() || (condition.known() && condition.integer == 0)) return Flow::next;
  std::vector<std::size_t> exits;
  if (!condition.known()) exits.push_back(jump_unless(condition, stmt.at));
  free_temporaries();
  builder().loops.emplace_back();
  statement(*stmt.first);
  Loop loop = std::move(builder().loops.back());
  builder().loops.pop_back();
  patch(loop.continues);
  if (stmt.second != nullptr) statement(*stmt.second);
  emit({.code = Code::jump, .where = top}, stmt.at);
  patch(exits);
  patch(loop.breaks);
  return Flow::next;
}

Evaluator::Flow Evaluator::for_loop(const Stmt& stmt) {
  const Value over = evaluated(*stmt.a);
  if (!over.ok()) return Flow::next;
  const bool is_range = over.type->is(TypeKind::range);
  if (!is_range && !over.type->is(TypeKind::array) && !over.type->is(TypeKind::anonymous)) {
    wrong(stmt.at, "a loop runs over an array or a range, not over " + over.type->name,
          "Write for (@range(i16, n)) |i|.");
    return Flow::next;
  }
  const bool tuple = over.type->is(TypeKind::anonymous);
  if (!runtime() || stmt.forced || tuple) {
    if (over.where != Where::known || (is_range && has_runtime_parts(over))) {
      wrong(stmt.at, "what this loop runs over is not known at compile time");
      return Flow::next;
    }
    return for_now(stmt, over);
  }
  return is_range ? for_range_later(stmt, over) : for_array_later(stmt, over);
}

Evaluator::Flow Evaluator::for_now(const Stmt& stmt, const Value& over) {
  const bool is_range = over.type->is(TypeKind::range);
  Wide at = is_range ? over.parts->items[0].integer : 0;
  const Wide end = is_range ? over.parts->items[1].integer : static_cast<Wide>(over.parts->count);
  const Wide by = is_range ? over.parts->items[2].integer : 1;
  for (Wide k = 0; by > 0 ? at < end : at > end; at += by, ++k) {
    if (!step(stmt.at)) return Flow::returning;
    const std::size_t locals = locals_.size();
    Value item = is_range ? known(over.parts->items[0].type, at)
                          : over.parts->items[over.parts->same ? 0 : static_cast<std::size_t>(at)];
    item.slot = nullptr;
    declare(stmt.names[0], item, true);
    if (stmt.names.size() > 1) declare(stmt.names[1], known(types_.comptime_integer, k), true);
    const Flow flow = statement(*stmt.first);
    locals_.resize(locals);
    if (flow == Flow::breaking) return Flow::next;
    if (flow == Flow::returning) return flow;
  }
  return Flow::next;
}

Evaluator::Flow Evaluator::for_range_later(const Stmt& stmt, const Value& range) {
  const Type* type = range.parts->items[0].type;
  const std::uint16_t first = in_register(range.parts->items[0], stmt.at);
  const std::uint16_t last = in_register(range.parts->items[1], stmt.at);
  const bool down = range.parts->items[2].known() && range.parts->items[2].integer < 0;
  const std::uint16_t by = in_register(range.parts->items[2], stmt.at);
  const std::uint16_t counter = fresh(stmt.at), end = fresh(stmt.at), step_by = fresh(stmt.at),
                      shown_counter = fresh(stmt.at), index = fresh(stmt.at);
  emit({.code = Code::move, .a = counter, .b = first}, stmt.at);
  emit({.code = Code::move, .a = end, .b = last}, stmt.at);
  emit({.code = Code::move, .a = step_by, .b = by}, stmt.at);
  const bool indexed = stmt.names.size() > 1;
  if (indexed) emit({.code = Code::move, .a = index, .b = constant_register(0, stmt.at)}, stmt.at);
  const std::uint32_t kept = std::exchange(builder().kept, builder().next);
  const auto top = static_cast<std::int32_t>(builder().code.code.size());
  const std::uint16_t test = fresh(stmt.at);
  emit({.code = Code::compare,
        .op = down ? Operator::greater : Operator::less,
        .scalar = type->scalar,
        .a = test,
        .b = counter,
        .c = end},
       stmt.at);
  const std::size_t leave = emit({.code = Code::jump_unless, .a = test}, stmt.at);
  emit({.code = Code::move, .a = shown_counter, .b = counter}, stmt.at);
  const std::size_t locals = locals_.size();
  Value item = held_value(type, shown_counter);
  if (builder().addressed->contains(stmt.names[0])) item = in_memory(item, stmt.at);
  item.local = shown_counter;  // so that a constant made of it is a copy
  declare(stmt.names[0], item, true);
  if (indexed) {
    Value shown_index = held_value(types_.u16, index);
    shown_index.local = index;
    declare(stmt.names[1], shown_index, true);
  }
  free_temporaries();
  builder().loops.emplace_back();
  statement(*stmt.first);
  Loop loop = std::move(builder().loops.back());
  builder().loops.pop_back();
  locals_.resize(locals);
  patch(loop.continues);
  emit({.code = Code::compute,
        .op = Operator::add,
        .scalar = type->scalar,
        .a = counter,
        .b = counter,
        .c = step_by},
       stmt.at);
  if (indexed) {
    count_on(index, stmt.at);
  }
  close_loop(stmt.at, top, leave, loop, kept);
  return Flow::next;
}

void Evaluator::count_on(std::uint16_t index, Position at) {
  emit({.code = Code::compute,
        .op = Operator::add,
        .scalar = Scalar::u16,
        .a = index,
        .b = index,
        .c = constant_register(1, at)},
       at);
}

void Evaluator::close_loop(Position at, std::int32_t top, std::size_t leave, const Loop& loop,
                           std::uint32_t kept) {
  emit({.code = Code::jump, .where = top}, at);
  patch({leave});
  patch(loop.breaks);
  builder().kept = kept;
  free_temporaries();
}

Evaluator::Flow Evaluator::for_array_later(const Stmt& stmt, Value array) {
  array = in_memory(array, stmt.at);
  if (!array.ok()) return Flow::next;
  const Type* item_type = array.type->element;
  const std::uint16_t counter = fresh(stmt.at), end = fresh(stmt.at), place = fresh(stmt.at);
  emit({.code = Code::move, .a = counter, .b = constant_register(0, stmt.at)}, stmt.at);
  emit({.code = Code::move, .a = end, .b = constant_register(array.type->length(), stmt.at)},
       stmt.at);
  const std::uint32_t kept = std::exchange(builder().kept, builder().next);
  const auto top = static_cast<std::int32_t>(builder().code.code.size());
  const std::uint16_t test = fresh(stmt.at);
  emit({.code = Code::compare,
        .op = Operator::less,
        .scalar = Scalar::u16,
        .a = test,
        .b = counter,
        .c = end},
       stmt.at);
  const std::size_t leave = emit({.code = Code::jump_unless, .a = test}, stmt.at);
  emit({.code = Code::address,
        .a = place,
        .b = array.held,
        .c = counter,
        .where = static_cast<std::int32_t>(item_type->bytes)},
       stmt.at);
  const std::size_t locals = locals_.size();
  Value item = loaded(memory_value(item_type, array.address, place), stmt.at);
  declare(stmt.names[0], item, true);
  if (stmt.names.size() > 1) {
    Value index = held_value(types_.u16, counter);
    index.local = counter;
    declare(stmt.names[1], index, true);
  }
  builder().kept = builder().next;
  builder().loops.emplace_back();
  statement(*stmt.first);
  Loop loop = std::move(builder().loops.back());
  builder().loops.pop_back();
  locals_.resize(locals);
  patch(loop.continues);
  count_on(counter, stmt.at);
  close_loop(stmt.at, top, leave, loop, kept);
  return Flow::next;
}

Evaluator::Flow Evaluator::selection(const Stmt& stmt) {
  const Value chosen = value(*stmt.a);
  if (!chosen.ok()) return Flow::next;
  if (chosen.known()) {
    const Case* otherwise = nullptr;
    for (const Case& one : stmt.cases) {
      if (one.values.empty()) otherwise = &one;
      for (const Expr* expr : one.values) {
        const Value label =
            coerced(known_value(*expr, chosen.type, "a case"), chosen.type, expr->at);
        if (label.ok() && label.integer == chosen.integer) return statement(*one.body);
      }
    }
    return otherwise != nullptr ? statement(*otherwise->body) : Flow::next;
  }
  if (!runtime()) {
    wrong(stmt.at, "the value of this switch is not known at compile time");
    return Flow::next;
  }
  const std::uint16_t held = fresh(stmt.at);
  emit({.code = Code::move, .a = held, .b = in_register(chosen, stmt.at)}, stmt.at);
  const std::uint32_t kept = std::exchange(builder().kept, builder().next);
  std::vector<std::size_t> ends;
  const Case* otherwise = nullptr;
  for (const Case& one : stmt.cases) {
    if (one.values.empty()) {
      otherwise = &one;
      continue;
    }
    std::vector<std::size_t> matches;
    for (const Expr* expr : one.values) {
      const Value label = coerced(known_value(*expr, chosen.type, "a case"), chosen.type, expr->at);
      if (!label.ok()) continue;
      const std::uint16_t test = fresh(expr->at);
      emit({.code = Code::compare,
            .op = Operator::not_equal,
            .scalar = chosen.type->scalar,
            .a = test,
            .b = held,
            .c = in_register(label, expr->at)},
           expr->at);
      matches.push_back(emit({.code = Code::jump_unless, .a = test}, expr->at));
      free_temporaries();
    }
    const std::size_t next = emit({.code = Code::jump}, stmt.at);
    patch(matches);
    statement(*one.body);
    ends.push_back(emit({.code = Code::jump}, stmt.at));
    patch({next});
  }
  if (otherwise != nullptr) statement(*otherwise->body);
  patch(ends);
  builder().kept = kept;
  free_temporaries();
  return Flow::next;
}

}  // namespace tensorpress::csl
