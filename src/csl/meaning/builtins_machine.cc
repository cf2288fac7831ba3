// Builtins about what a tile does: operations on descriptors, tasks, queues, and names for the
// host.
#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

std::span<const Evaluator::NamedBuiltin> Evaluator::machine_builtins() {
  static constexpr NamedBuiltin kBuiltins[] = {
      {"get_dsd", &Evaluator::get_dsd},
      {"set_dsd_base_addr", &Evaluator::change_dsd},
      {"increment_dsd_offset", &Evaluator::change_dsd},
      {"set_dsd_length", &Evaluator::change_dsd},
      {"set_dsd_stride", &Evaluator::change_dsd},
      {"allocate_fifo", &Evaluator::allocate_fifo},
      {"get_dsr", &Evaluator::get_dsr},
      {"load_to_dsr", &Evaluator::load_to_dsr},
      {"map", &Evaluator::map},
      {"activate", &Evaluator::task_state},
      {"block", &Evaluator::task_state},
      {"unblock", &Evaluator::task_state},
      {"bind_local_task", &Evaluator::bind_task},
      {"bind_data_task", &Evaluator::bind_task},
      {"bind_control_task", &Evaluator::bind_task},
      {"initialize_queue", &Evaluator::initialize_queue},
      {"export_symbol", &Evaluator::export_symbol},
      {"set_teardown_handler", &Evaluator::set_teardown_handler},
      {"set_local_color_config", &Evaluator::set_local_color_config},
  };
  return kBuiltins;
}

/// The number of a task: of an identifier, or of a task by its name, which is bound somewhere.
int Evaluator::task_id_of(const Value& given, Position at) {
  if (given.known() && given.function != nullptr) {
    for (int id = 0; id < kTaskIds; ++id) {
      if (bound_[static_cast<std::size_t>(id)] == given.function) return id;
    }
    wrong(at, "the task '" + std::string(given.function->name) + "' is not bound in front of this",
          "Bind it with @bind_local_task, and name its id here.");
    return 0;
  }
  if (given.known() && given.type->scalar == Scalar::u16) return static_cast<int>(given.integer);
  wrong(at, "a task id is needed here, this is " + given.type->name);
  return 0;
}

void Evaluator::resolve_tasks() {
  for (const Fixup& fixup : fixups_) {
    int found = -1;
    for (int id = 0; id < kTaskIds; ++id) {
      if (bound_[static_cast<std::size_t>(id)] == fixup.task) found = id;
    }
    if (found < 0) {
      wrong(fixup.at, "the task '" + std::string(fixup.task->name) + "' is not bound to an id",
            "Bind it with @bind_local_task in a comptime block.");
    }
    program_->constants[fixup.constant] = std::max(found, 0);
  }
}

Action Evaluator::action(const Value& target, ActionKind kind, Position at) {
  if (!target.ok()) return {};
  if (target.known() && target.function != nullptr) {
    // Bound tasks are known when all comptime blocks have run.
    const auto constant = program_->constants.size();
    program_->constants.push_back(0);
    fixups_.push_back({constant, target.function, at});
    const std::uint16_t to = fresh(at);
    emit({.code = Code::constant, .a = to, .where = static_cast<std::int32_t>(constant)}, at);
    return {kind, to};
  }
  if (target.type->scalar != Scalar::u16) {
    wrong(at, "a task id or a task is needed here, this is " + target.type->name);
    return {};
  }
  return {kind, in_register(target, at)};
}

Value Evaluator::task_state(const Expr& expr) {
  if (!expects(expr, 1, 1)) return {};
  const Value task = value(*expr.items[0]);
  if (!task.ok()) return {};
  if (program_ == nullptr) return wrong(expr.at, "a layout has no tasks");
  if (runtime()) {
    const Action made = action(task, ActionKind::activate, expr.at);
    if (made.kind == ActionKind::none) return {};
    emit({.code = expr.name == "activate" ? Code::activate
                  : expr.name == "block"  ? Code::block
                                          : Code::unblock,
          .a = made.task},
         expr.at);
    return nothing();
  }
  const int id = task_id_of(task, expr.at);
  if (id < 0 || id >= kTaskIds) return wrong(expr.at, "this id cannot be activated or blocked");
  const std::uint32_t bit = std::uint32_t{1} << id;
  if (expr.name == "activate") program_->activated |= bit;
  if (expr.name == "block") program_->blocked |= bit;
  if (expr.name == "unblock") {
    program_->blocked &= ~bit;
    program_->unblocked |= bit;
  }
  return nothing();
}

Value Evaluator::bind_task(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Value task = value(*expr.items[0]);
  const Value id = known_value(*expr.items[1], nullptr, "a task id");
  if (!task.ok() || !id.ok()) return {};
  if (program_ == nullptr || runtime())
    return wrong(expr.at, "tasks are bound in a comptime block of a tile's code");
  if (task.function == nullptr || task.function->kind != DeclarationKind::task)
    return wrong(expr.at, "a task is bound here, this is something else",
                 "Declare it with task instead of fn.");
  const TaskKind kind = expr.name == "bind_local_task"  ? TaskKind::local
                        : expr.name == "bind_data_task" ? TaskKind::data
                                                        : TaskKind::control;
  const Type* wanted = kind == TaskKind::local  ? types_.local_task
                       : kind == TaskKind::data ? types_.data_task
                                                : types_.control_task;
  if (id.type != wanted)
    return wrong(
        expr.at,
        "@" + std::string(expr.name) + " takes a " + wanted->name + ", here is " + id.type->name,
        "Make one with @get_" + wanted->name + ".");
  const std::string name(task.function->name);
  const std::size_t parameters = task.function->parameters.size();
  if (kind == TaskKind::local && parameters != 0)
    return wrong(expr.at, "a local task has no parameters, '" + name + "' has " +
                              std::to_string(parameters));
  if (kind == TaskKind::data && parameters == 0)
    return wrong(expr.at,
                 "a data task takes the wavelet's payload, '" + name + "' has no parameter");
  const auto number = static_cast<std::size_t>(id.integer);
  TaskEntry& entry =
      kind == TaskKind::control ? program_->control_tasks[number] : program_->tasks[number];
  if (entry.kind != TaskKind::none) {
    wrong(expr.at,
          "task id " + std::to_string(number) + " is bound to '" + entry.name + "' already",
          "Take a free id for '" + name + "'.");
    all_.diagnostics.note(entry.at, "it is bound here");
    return {};
  }
  if (kind != TaskKind::control) bound_[number] = task.function;
  entry = {.kind = kind, .function = plain_instance(task, expr.at), .name = name, .at = expr.at};
  Frame scope{.module = task.module, .now = true, .first_local = locals_.size()};
  Frame* before = std::exchange(frame_, &scope);
  unsigned bits = 0;
  for (const Parameter& parameter : task.function->parameters) {
    const Type* type = parameter.type != nullptr ? type_of(*parameter.type) : nullptr;
    entry.parameters.push_back(type != nullptr ? type->scalar : Scalar::none);
    bits += bits_of(entry.parameters.back());
  }
  frame_ = before;
  if (bits > 32)
    return wrong(expr.at, "a wavelet carries 32 bits, the parameters of '" + name + "' have " +
                              std::to_string(bits));
  return nothing();
}

Value Evaluator::initialize_queue(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Value queue = known_value(*expr.items[0], nullptr, "a queue");
  const Value config = known_value(*expr.items[1], nullptr, "the configuration of a queue");
  if (!queue.ok() || !config.ok()) return {};
  if (program_ == nullptr || runtime())
    return wrong(expr.at, "queues are initialized in a comptime block of a tile's code");
  const bool input = queue.type->is(TypeKind::input_queue);
  if (!input && !queue.type->is(TypeKind::output_queue))
    return wrong(expr.at, "a queue is needed here, this is " + queue.type->name);
  const Value* color = part(config, "color");
  if (color == nullptr) return nothing();  // an output queue of WSE-2 serves any color
  if (!color->type->is(TypeKind::color))
    return wrong(expr.at, "the color of a queue is a color, here is " + color->type->name);
  QueueEntry& entry = (input ? program_->input_queues
                             : program_->output_queues)[static_cast<std::size_t>(queue.integer)];
  if (entry.set && entry.color != color->integer) {
    wrong(expr.at,
          std::string(input ? "input" : "output") + " queue " + shown(queue) + " has color " +
              std::to_string(entry.color) + " already",
          "Take another queue.");
    all_.diagnostics.note(entry.at, "it gets that color here");
    return {};
  }
  entry = {.set = true, .color = static_cast<std::uint8_t>(color->integer), .at = expr.at};
  return nothing();
}

Value Evaluator::set_teardown_handler(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Value handler = value(*expr.items[0]);
  const Value color = known_value(*expr.items[1], nullptr, "a color");
  if (!handler.ok() || !color.ok()) return {};
  if (program_ == nullptr || runtime()) {
    return wrong(expr.at, "teardown handlers are set in a comptime block of a tile's code");
  }
  if (handler.function == nullptr || !handler.function->parameters.empty() ||
      !color.type->is(TypeKind::color)) {
    return wrong(expr.at, "@set_teardown_handler takes a function without parameters and a color");
  }
  program_->teardown_handlers[static_cast<std::size_t>(color.integer)] =
      plain_instance(handler, expr.at);
  return nothing();
}

Value Evaluator::export_symbol(const Expr& expr) {
  if (!expects(expr, 1, 2)) return {};
  if (program_ == nullptr || runtime())
    return wrong(expr.at, "symbols are exported in a comptime block of a tile's code");
  Value what = evaluated(*expr.items[0]);
  if (!what.ok()) return {};
  Export made{.name = "", .at = expr.at};
  if (expr.items.size() == 2) {
    const Value name = known_value(*expr.items[1], types_.string, "the name of a symbol");
    if (!name.ok()) return {};
    if (!name.words) return wrong(expr.at, "the name of a symbol is a string");
    made.name = *name.words;
  } else if (expr.items[0]->kind == ExprKind::name) {
    made.name = expr.items[0]->name;
  } else {
    return wrong(expr.at, "this symbol needs a name", "Give it as the second argument.");
  }
  if (what.function != nullptr) {
    made.function = plain_instance(what, expr.at);
    if (made.function < 0) return {};
    Frame scope{.module = what.module, .now = true, .first_local = locals_.size()};
    Frame* before = std::exchange(frame_, &scope);
    for (const Parameter& parameter : what.function->parameters) {
      const Type* type = type_of(*parameter.type);
      made.parameters.push_back(type != nullptr ? type->scalar : Scalar::none);
    }
    frame_ = before;
    made.type = "fn";
  } else {
    if (what.known() && what.type->is(TypeKind::pointer)) {
      made.address = static_cast<std::uint32_t>(what.integer);
    } else {
      what = in_memory(what, expr.at);
      if (!what.ok()) return {};
      made.address = what.address;
      made.pointer = what.type->is(TypeKind::pointer);
    }
    made.type = what.type->name;
  }
  for (Export& other : program_->exports) {
    if (other.name != made.name) continue;
    if (!other.by_symbol) {  // `export var` of the same name: this call says more about it
      other = made;
      other.by_symbol = true;
      return nothing();
    }
    return wrong(expr.at, "the symbol \"" + made.name + "\" is exported twice");
  }
  made.by_symbol = true;
  program_->exports.push_back(std::move(made));
  return nothing();
}

Value Evaluator::set_local_color_config(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Value color = known_value(*expr.items[0], nullptr, "a color");
  const Value config = known_value(*expr.items[1], nullptr, "the configuration");
  if (!color.ok() || !config.ok()) return {};
  if (program_ == nullptr || runtime())
    return wrong(expr.at, "@set_local_color_config belongs into a comptime block of a tile's code");
  if (!color.type->is(TypeKind::color))
    return wrong(expr.at, "a color is needed, here is " + color.type->name);
  ColorConfig& place = program_->colors[static_cast<std::size_t>(color.integer)];
  if (place.set) return wrong(expr.at, "color " + shown(color) + " is configured twice");
  read_color_config(config, place, expr.at);
  return nothing();
}

}  // namespace tensorpress::csl
