#include "model/lowering/site.h"

#include <algorithm>

#include "base/text.h"
#include "model/lowering/parts.h"
#include "model/program/callees.h"

namespace tensorpress::model {

// --- The node and the step -----------------------------------------------------------------------

NodeView Site::view() const {
  return parts_.setting.view(node_);
}

const Setting& Site::step() const {
  return parts_.setting;
}

const Sizes& Site::sizes() const {
  return parts_.setting.options.sizes;
}

bool Site::split() const {
  return parts_.setting.is_split(node_);
}

std::size_t Site::hidden() const {
  return view().node.outputs.size() - 1;
}

bool Site::store_hidden() {
  const ValueId id = output_id(hidden());
  parts_.decoder.store_values(id);
  return parts_.setting.stashes[id].how.kind != Storing::Kind::keep;
}

// --- Operands ------------------------------------------------------------------------------------

Expression Site::in(std::size_t i) {
  const ValueId id = input_id(i);
  const Value& value = parts_.setting.graph.values[id];
  if (mode_ != Mode::forward) return parts_.decoder.decode(id);
  if (value.role == Role::parameter) return Expression(ExpressionNode{Parameter{value.name}});
  const auto lazy = parts_.lazy.find(id);
  return lazy == parts_.lazy.end() ? Expression(parts_.lines.name_of(id)) : lazy->second;
}

Expression Site::ins() {
  std::vector<Expression> all;
  for (std::size_t i = 0; i < view().input_count(); ++i) all.push_back(in(i));
  return list_of(std::move(all));
}

Expression Site::out(std::size_t j) {
  const ValueId id = output_id(j);
  const bool hidden = parts_.setting.graph.values[id].role == Role::hidden;
  const bool made_before = mode_ == Mode::backward || (mode_ == Mode::rebuild && hidden);
  return made_before ? parts_.decoder.decode(id) : Expression(parts_.lines.name_of(id));
}

Expression Site::parameter(std::string_view local) const {
  const Value* value = view().parameter(local);
  if (value == nullptr) return none();
  if (value->role == Role::buffer) return Expression(ExpressionNode{Buffer{value->name, true}});
  return Expression(ExpressionNode{Parameter{value->name}});
}

Local Site::local(std::string_view suffix) const {
  return parts_.lines.fresh(text(view().node.name, "_", suffix));
}

Expression Site::seed() {
  return parts_.seed_of(Draw::dropout, node_, mode_ != Mode::forward);
}

Stored Site::saved(std::string_view suffix) const {
  return stored_part(view().node.name, suffix);
}

Stored Site::signs(std::size_t j) const {
  return stored_part(view().output(j).name, "signs");
}

bool Site::only_signs(std::size_t j) const {
  return parts_.setting.stashes[output_id(j)].stores_signs();
}

// --- Lines ---------------------------------------------------------------------------------------

void Site::define(const Definition& variable, const Expression& value, std::int64_t scratch) {
  define_all({variable}, value, scratch);
}

void Site::define_all(const std::vector<Definition>& variables, const Expression& value,
                      std::int64_t scratch) {
  parts_.lines.define(variables, value, scratch,
                      mode_ == Mode::backward ? Memory::Kind::gradient : Memory::Kind::activation);
}

void Site::define_output(std::size_t j, const Expression& value, std::int64_t scratch) {
  const Local name = parts_.lines.name_of(output_id(j));
  define({name, view().output(j).type}, value, scratch);
  const Sharing sharing = sharing_of(value);
  if (sharing.repeated) {
    parts_.lines.protect(name);
  } else if (mode_ == Mode::rebuild && sharing.none()) {
    parts_.decoder.allow_overwriting(name);
  } else if (mode_ == Mode::rebuild && sharing.with != nullptr) {
    parts_.decoder.allow_overwriting_as(name, *sharing.with);
  }
}

void Site::add_to(const Expression& target, const Expression& value) {
  parts_.lines.add_to(target, value);
}

void Site::run(const Expression& value) {
  parts_.lines.run(value);
}

void Site::save(std::string_view suffix, const Expression& value, std::int64_t bytes) {
  parts_.lines.keep(saved(suffix), value, bytes);
}

// --- Memory that may be overwritten --------------------------------------------------------------

bool Site::may_overwrite(std::size_t i) const {
  const ValueId id = input_id(i);
  if (mode_ != Mode::forward) return parts_.decoder.may_overwrite(id);
  return !in_is_lazy(i) && parts_.setting.is_only_reader_left(id, node_) &&
         parts_.lines.is_alone(parts_.lines.name_of(id));
}

bool Site::may_overwrite_out(std::size_t j) const {
  return parts_.decoder.may_overwrite(output_id(j));
}

bool Site::may_overwrite_grad(std::size_t j) {
  return parts_.gradients.may_overwrite(output_id(j));
}

// --- Gradients -----------------------------------------------------------------------------------

Expression Site::grad(std::size_t j) {
  return parts_.gradients.get(output_id(j));
}

bool Site::wants(std::size_t i) const {
  return view().input(i).needs_gradient;
}

bool Site::wants_parameter(std::string_view local) const {
  const Value* value = view().parameter(local);
  return value != nullptr && value->needs_gradient;
}

void Site::give(std::size_t i, const Expression& value, std::int64_t scratch) {
  if (!wants(i)) return;
  const Sharing sharing = sharing_of(value);
  if (sharing.repeated && sharing.with != nullptr) parts_.lines.protect(*sharing.with);
  parts_.gradients.contribute(input_id(i), value, scratch);
}

void Site::give_parameter(std::string_view local, const Expression& value, std::int64_t scratch) {
  for (const auto& [name, id] : view().node.parameters) {
    if (name == local && parts_.setting.graph.values[id].needs_gradient) {
      parts_.gradients.contribute(id, value, scratch);
    }
  }
}

Local Site::grad_name_of(std::size_t i) {
  const ValueId id = input_id(i);
  return parts_.gradients.has_contributions(id) ? local("more") : parts_.gradients.name_of(id);
}

Local Site::grad_name_of_parameter(std::string_view local_name) {
  for (const auto& [each, id] : view().node.parameters) {
    if (each != local_name) continue;
    const bool again = parts_.gradients.has_contributions(id);
    return again ? local(text("d_", local_name)) : parts_.gradients.name_of(id);
  }
  return unused();
}

std::optional<Local> Site::gradient_to_add_to(std::size_t i) {
  return wants(i) ? parts_.gradients.sum_to_add_to(input_id(i)) : std::nullopt;
}

void Site::added(std::size_t i) {
  parts_.gradients.added(input_id(i));
}

// --- Slices of the batch -------------------------------------------------------------------------

std::optional<Expression> Site::in_slices(std::size_t i) {
  if (mode_ == Mode::forward) return in(i);
  return parts_.decoder.decode_slices(input_id(i));
}

std::optional<Expression> Site::out_slices(std::size_t j) {
  return parts_.decoder.decode_slices(output_id(j));
}

bool Site::in_is_lazy(std::size_t i) const {
  return parts_.lazy.contains(input_id(i));
}

std::optional<Local> Site::place_for_output() const {
  const Graph& graph = parts_.setting.graph;
  if (!in_is_lazy()) return std::nullopt;
  const NodeId lazy = graph.values[input_id(0)].producer;
  for (const ValueId id : graph.nodes[lazy].inputs) {
    if (parts_.lazy.contains(id) || graph.values[id].type != view().output().type) continue;
    if (!parts_.setting.is_only_reader_left(id, lazy)) continue;
    const Local& name = parts_.lines.name_of(id);
    if (parts_.lines.is_alone(name)) return name;
  }
  return std::nullopt;
}

std::int64_t Site::largest_piece_bytes() const {
  const Graph& graph = parts_.setting.graph;
  const std::int64_t whole = bytes(view().input(0).type, sizes());
  if (!in_is_lazy()) return whole;
  const Node& lazy = graph.nodes[graph.values[input_id(0)].producer];
  // One input: something else than a concatenation, whose own size counts.
  if (lazy.inputs.size() == 1) return whole;
  std::int64_t most = 0;
  for (const ValueId id : lazy.inputs) {
    most = std::max(most, bytes(graph.values[id].type, sizes()));
  }
  return most;
}

std::optional<Expression> Site::hidden_bits() {
  const ValueId id = output_id(hidden());
  const Storing& how = parts_.setting.stashes[id].how;
  const bool packed = how.kind == Storing::Kind::quantize && parts_.decoder.has_slices(id);
  if (!split() || !packed) return std::nullopt;
  return parts_.decoder.bits_of(id);
}

std::optional<Expression> Site::input_sink(std::size_t i) {
  return parts_.gradients.sink(input_id(i), mode_ == Mode::rebuild);
}

void Site::sinks_filled() {
  parts_.gradients.sinks_filled();
}

}  // namespace tensorpress::model
