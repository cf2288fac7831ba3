// Contributions to gradients: how they add up, and how they wait for another branch of the graph.
#include <algorithm>

#include "base/text.h"
#include "model/lowering/lowering.h"
#include "model/lowering/packing.h"

namespace tensorpress::model {
namespace {

/// A gradient that the next nodes but this many do not touch is packed while it waits, unless it is
/// small.
constexpr NodeId kShortWait = 2;
constexpr std::int64_t kLeastWaiting = std::int64_t{1} << 20;

}  // namespace

bool Lowering::waits_long(ValueId id) const {
  const Value& value = graph_.values[id];
  if (options_.waiting_bits == 0 || value.role != Role::activation || value.producer == kNone) {
    return false;
  }
  if (bytes(value.type, options_.sizes) < kLeastWaiting) return false;
  NodeId next = value.producer;
  for (const NodeId consumer : value.consumers) {
    const bool again = consumer == current_ &&
                       std::count(value.consumers.begin(), value.consumers.end(), current_) > 1;
    if (again) return false;
    if (consumer < current_) next = std::max(next, consumer);
  }
  return current_ - next > kShortWait;
}

void Lowering::begin_waiting(ValueId id, const std::string& gradient, std::int64_t scratch) {
  const Value& value = graph_.values[id];
  const Storing how{.kind = Storing::Kind::quantize,
                    .bits = options_.waiting_bits,
                    .stochastic = options_.native};
  const std::string name = python_name(gradient_names_[id] + "_waiting");
  const std::string rounding =
      how.stochastic
          ? text(", \"stochastic\", ", seed_of(Draw::rounding_of_waiting_gradient, id, true))
          : std::string();
  add_line(text(name, " = pack_bits(", gradient, ", ", how.bits, rounding, ")"), scratch,
           {{name, value.type}}, Memory::Kind::gradient);
  program_.memories[memory_of(name)].bytes = stored_bytes(how, value.type, options_.sizes);
  release(gradient_names_[id]);
  waiting_[id] = name;
}

void Lowering::end_waiting(ValueId id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const std::string packed = found->second;
  waiting_.erase(found);
  const Value& value = graph_.values[id];
  add_line(text(gradient_names_[id], " = unpack_bits(", packed, ", ", options_.waiting_bits, ", ",
                to_python(value.type.shape), dtype_argument(value.type), ")"),
           0, {{gradient_names_[id], value.type}}, Memory::Kind::gradient);
  release(packed);
}

void Lowering::contribute(ValueId id, const std::string& expression, const std::string& shares,
                          std::int64_t scratch) {
  const Value& value = graph_.values[id];
  const Memory::Kind kind =
      value.role == Role::parameter ? Memory::Kind::weight_gradient : Memory::Kind::gradient;
  std::string& name = gradient_names_[id];
  if (contributions_[id]++ == 0) {
    if (name.empty()) name = python_name("d_" + value.name);
    if (waits_long(id) && variables_.contains(expression)) {
      begin_waiting(id, expression, 0);
    } else if (waits_long(id) && !shares.empty()) {  // a part, which is copied first
      begin_waiting(id, expression, bytes(value.type, options_.sizes));
    } else if (expression != name) {
      add_line(text(name, " = ", expression), scratch, {{name, value.type, shares}}, kind);
    } else {
      program_.memories[memory_of(name)].kind = kind;
    }
    return;
  }
  std::string more = expression;
  if (!variables_.contains(expression)) {
    more = python_name(name + "_more");
    add_line(text(more, " = ", expression), scratch, {{more, value.type, shares}}, kind);
  }
  const auto waiting = waiting_.find(id);
  if (waiting != waiting_.end()) {
    const bool own = options_.native && is_own_result(more);
    add_line(text(name, own ? " = add_unpacked_(" : " = add_unpacked(", more, ", ", waiting->second,
                  ", ", options_.waiting_bits, ")"),
             0, {{name, value.type, own ? more : std::string()}}, kind);
    release(waiting->second);
    waiting_.erase(waiting);
    release(more);
    return;
  }
  const bool own = holders_[memory_of(name)] == 1;
  add_line(text(name, own ? " += " : text(" = ", name, " + "), more), 0,
           {{name, value.type, own ? name : std::string()}}, kind);
  release(more);
}

bool Lowering::is_own_result(const std::string& name) const {
  std::size_t others = holders_[memory_of(name)] - 1;
  for (const ValueId output : graph_.nodes[current_].outputs) {
    const std::string& gradient = gradient_names_[output];
    if (gradient == name) return false;
    if (held_.contains(gradient) && memory_of(gradient) == memory_of(name)) --others;
  }
  return others == 0;
}

void Lowering::give_if_complete(ValueId id, NodeId node) {
  const Value& value = graph_.values[id];
  if (value.role != Role::parameter || first_use_[id] != node || contributions_[id] == 0) return;
  contributions_[id] = 0;
  add_line(text("give(\"", value.name, "\", ", gradient_names_[id], ")"), 0, {},
           Memory::Kind::weight_gradient);
  release(gradient_names_[id]);
}

}  // namespace tensorpress::model
