// Builtins about modules, identifiers of the machine, and what libraries are built on.
#include <algorithm>

#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {

Value Evaluator::comptime_print(const Expr& expr) {
  std::string line;
  for (const Expr* item : expr.items) {
    const Value one = evaluated(*item);
    line += (line.empty() ? "" : " ") + (one.words ? *one.words : shown(one));
  }
  if (all_.prints.size() < 1000) all_.prints.push_back(line);
  return nothing();
}

Value Evaluator::concat_structs(const Expr& expr) {
  if (!expects(expr, 2, 2)) return {};
  const Value a = evaluated(*expr.items[0]), b = evaluated(*expr.items[1]);
  if (!a.ok() || !b.ok()) return {};
  if (!a.type->is(TypeKind::anonymous) || !b.type->is(TypeKind::anonymous)) {
    return wrong(expr.at, "@concat_structs takes two anonymous structs");
  }
  std::vector<std::pair<std::string_view, Value>> fields;
  for (const Value* one : {&a, &b}) {
    for (std::size_t k = 0; k < one->parts->items.size(); ++k) {
      fields.emplace_back(k < one->type->fields.size() ? one->type->fields[k] : "",
                          one->parts->items[k]);
    }
  }
  for (const std::string_view name : a.type->fields) {
    if (part(b, name) != nullptr)
      return wrong(expr.at, "both structs have a field '" + std::string(name) + "'");
  }
  return struct_of(std::move(fields));
}

Value Evaluator::import_module(const Expr& expr) {
  if (!expects(expr, 1, 2)) return {};
  const Value name = known_value(*expr.items[0], types_.string, "the name of a module");
  if (!name.ok()) return {};
  if (!name.words) return wrong(expr.at, "@import_module takes a string");
  Value params;
  if (expr.items.size() == 2) {
    params = known_value(*expr.items[1], nullptr, "the params of a module");
    if (!params.ok()) return {};
    if (!params.type->is(TypeKind::anonymous))
      return wrong(expr.at, "params are a struct, as .{ .size = 4 }");
  }
  Module* imported = module(resolved(*name.words, *frame_->module), params, expr.at);
  if (imported == nullptr) return {};
  Value made = known(types_.module, 0);
  made.module = imported;
  return made;
}

Value Evaluator::identifier(const Expr& expr) {
  if (!expects(expr, 1, 1)) return {};
  const bool wse2 = all_.architecture == Architecture::wse2;
  struct Kind {
    std::string_view builtin;
    const Type* type;
    int least, most;
  };
  const Kind kinds[] = {{"get_color", types_.color, 0, 23},
                        {"get_input_queue", types_.input_queue, 0, 7},
                        {"get_output_queue", types_.output_queue, 0, wse2 ? 5 : 7},
                        {"get_data_task_id", types_.data_task, 0, wse2 ? 23 : 7},
                        {"get_local_task_id", types_.local_task, wse2 ? 0 : 8, 30},
                        {"get_control_task_id", types_.control_task, 0, 63},
                        {"get_ut_id", types_.microthread, 0, 7}};
  const Kind& kind = *std::ranges::find(kinds, expr.name, &Kind::builtin);
  Value number = value(*expr.items[0]);
  if (!number.ok()) return {};
  if (kind.type == types_.data_task) {
    const Type* wanted = wse2 ? types_.color : types_.input_queue;
    if (number.type != wanted && !number.type->is_integer()) {
      return wrong(expr.at,
                   "@get_data_task_id takes " +
                       std::string(wse2 ? "a color on WSE-2" : "an input queue on WSE-3") +
                       ", here is " + number.type->name,
                   "Choose with if (@is_arch(\"wse3\")).");
    }
  } else if (!number.type->is_integer()) {
    return wrong(expr.at,
                 "@" + std::string(expr.name) + " takes an integer, here is " + number.type->name);
  }
  if (number.known()) {
    if (number.integer < kind.least || number.integer > kind.most) {
      return wrong(expr.at, "a " + kind.type->name + " is " + std::to_string(kind.least) + " to " +
                                std::to_string(kind.most) + " here, not " + shown(number));
    }
    return known(kind.type, number.integer);
  }
  return held_value(kind.type, in_register(number, expr.at));
}

Value Evaluator::get_int(const Expr& expr) {
  if (!expects(expr, 1, 1)) return {};
  Value number = value(*expr.items[0]);
  if (!number.ok()) return {};
  if (number.type->scalar != Scalar::u16)
    return wrong(expr.at, "@get_int takes a color, a queue or a task id");
  number.type = types_.u16;
  number.slot = nullptr;
  return number;
}

Value Evaluator::get_rectangle(const Expr&) {
  return struct_of({{"width", known(types_.u16, all_.layout.width)},
                    {"height", known(types_.u16, all_.layout.height)}});
}

/// A string of the program as the machine names it.
Value Evaluator::string_number(const std::string& words) {
  program_->strings.push_back(words);
  return known(types_.string_number, static_cast<Wide>(program_->strings.size() - 1));
}

/// What our own libraries are built on: @hook("name", arguments). Programs cannot use it.
Value Evaluator::native_hook(const Expr& expr) {
  if (!frame_->module->library || expr.items.empty()) return unsupported_builtin(expr);
  const Value name = known_value(*expr.items[0], types_.string, "the name of a hook");
  if (!name.ok() || !name.words) return {};
  if (*name.words == "direction_bits" && expr.items.size() == 2) {
    const Value directions = known_value(*expr.items[1], nullptr, "directions");
    std::uint8_t bits = 0;
    if (!directions.ok() || !read_directions(directions, bits, expr.at)) return {};
    return known(types_.u32, bits);
  }
  struct Named {
    std::string_view name;
    Hook hook;
    const Type* result;  // null: that of the first argument
  };
  const Named hooks[] = {{"unblock_commands", Hook::unblock_commands, types_.nothing},
                         {"sqrt", Hook::square_root, nullptr},
                         {"sin", Hook::sine, nullptr},
                         {"cos", Hook::cosine, nullptr},
                         {"exp", Hook::exponential, nullptr},
                         {"log", Hook::logarithm, nullptr},
                         {"cycles", Hook::cycle_counter, types_.integer(false, 64)},
                         {"x", Hook::x_coordinate, types_.u16},
                         {"y", Hook::y_coordinate, types_.u16},
                         {"print", Hook::print, types_.nothing},
                         {"trace", Hook::trace, types_.nothing},
                         {"trace_words", Hook::trace, types_.nothing},
                         {"route", Hook::set_route, types_.nothing}};
  const auto found = std::ranges::find(hooks, *name.words, &Named::name);
  if (found == std::end(hooks)) return unsupported_builtin(expr);
  if (!runtime()) return wrong(expr.at, "this library function runs on the machine only");
  Value b, c;
  if (expr.items.size() > 1) {
    b = value(*expr.items[1]);
    if (!b.ok()) return {};
    if (b.words) b = string_number(*b.words);
    b = coerced(b, defaulted(b.type), expr.at);
  }
  if (expr.items.size() > 2) c = value(*expr.items[2]);
  if (c.ok() && c.words) c = string_number(*c.words);
  return native(found->hook, found->result != nullptr ? found->result : b.type, b, c, expr.at);
}

}  // namespace tensorpress::csl
