#include "model/lowering/lowering.h"

#include <algorithm>

#include "base/errors.h"
#include "model/graph/python_names.h"
#include "model/lowering/packing.h"

namespace tensorpress::model {
Lowering::Lowering(const Graph& graph, const LowerOptions& options, std::vector<Stash> stashes)
    : graph_(graph),
      options_(options),
      stashes_(std::move(stashes)),
      value_names_(graph.values.size()),
      gradient_names_(graph.values.size()),
      contributions_(graph.values.size()),
      first_use_(graph.values.size(), kNone) {
  for (const std::string_view word : reserved_names()) taken_.emplace(word);
  for (const std::string& symbol : graph.symbols) taken_.insert(symbol);
  program_.update_in_backward = !options.optimizer.empty();
  for (NodeId i = graph.nodes.size(); i-- > 0;) {
    for (const ValueId id : graph.nodes[i].inputs) first_use_[id] = i;
    for (const auto& [local, id] : graph.nodes[i].parameters) first_use_[id] = i;
  }
}

// --- Variables -----------------------------------------------------------------------------------

std::string Lowering::python_name(const std::string& dotted) {
  std::string name;
  for (const char c : dotted) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "v" + name;
  if (taken_.insert(name).second) return name;
  int& number = numbers_.try_emplace(name, 1).first->second;
  std::string numbered;
  do {
    numbered = text(name, "_", ++number);
  } while (!taken_.insert(numbered).second);
  return numbered;
}

const std::string& Lowering::name_of_value(ValueId id) {
  if (value_names_[id].empty()) value_names_[id] = python_name(graph_.values[id].name);
  return value_names_[id];
}

std::size_t Lowering::memory_of(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? kNone : program_.variables[found->second].memory;
}

std::size_t Lowering::add_memory(std::int64_t bytes, Memory::Kind kind) {
  program_.memories.push_back({bytes, kind});
  holders_.push_back(0);
  return program_.memories.size() - 1;
}

void Lowering::add_line(std::string code, std::int64_t scratch,
                        const std::vector<Definition>& defines, Memory::Kind kind) {
  Line line;
  line.code = std::move(code);
  line.node = current_;
  line.scratch = scratch;
  for (const Definition& each : defines) {
    if (each.name == "_") continue;
    std::size_t memory = each.shares.empty() ? kNone : memory_of(each.shares);
    if (memory == kNone) {
      memory = add_memory(each.shares.empty() ? bytes(each.type, options_.sizes) : 0, kind);
    }
    const auto known = variables_.find(each.name);
    if (known != variables_.end() && program_.variables[known->second].memory == memory) continue;
    release(each.name);
    program_.variables.push_back({each.name, memory, memories_besides(memory, each.holds)});
    variables_[each.name] = program_.variables.size() - 1;
    line.defines.push_back(program_.variables.size() - 1);
    hold(each.name);
  }
  (pass_ == Pass::forward ? program_.forward : program_.backward).push_back(std::move(line));
}

std::vector<std::size_t> Lowering::memories_besides(std::size_t memory,
                                                    const std::vector<std::string>& names) const {
  std::set<std::size_t> held;  // once each: a concatenation may have the same part many times
  for (const std::string& name : names) {
    const auto found = variables_.find(name);
    if (found == variables_.end()) continue;
    const std::vector<std::size_t> all = program_.variables[found->second].memories();
    held.insert(all.begin(), all.end());
  }
  held.erase(memory);
  return {held.begin(), held.end()};
}

void Lowering::hold(const std::string& name) {
  const bool fresh = held_.insert(name).second && !let_go_.contains(name);
  if (fresh && pass_ == Pass::forward) newly_held_.push_back(name);
  for (const std::size_t memory : program_.variables[variables_.at(name)].memories()) {
    ++holders_[memory];
  }
}

void Lowering::release(const std::string& name) {
  if (held_.erase(name) == 0) return;
  if (pass_ == Pass::forward &&
      std::find(newly_held_.begin(), newly_held_.end(), name) == newly_held_.end()) {
    let_go_.insert(name);
  }
  for (const std::size_t memory : program_.variables[variables_.at(name)].memories()) {
    --holders_[memory];
  }
}

void Lowering::protect(const std::string& name) {
  ++holders_[memory_of(name)];  // never released
}

std::string Lowering::seed_of(Draw purpose, std::size_t id, bool later) {
  program_.streams = kDraws * graph_.values.size();  // there are at most as many nodes
  const std::size_t stream = kDraws * id + static_cast<std::size_t>(purpose);
  return text(later ? stored_name(key_of_step("seed")) : "seed", " + ", stream);
}

// --- Forward -------------------------------------------------------------------------------------

Program Lowering::run() {
  for (const ValueId id : graph_.inputs) {
    const std::size_t memory =
        add_memory(bytes(graph_.values[id].type, options_.sizes), Memory::Kind::input);
    program_.variables.push_back({name_of_value(id), memory});
    variables_[name_of_value(id)] = program_.variables.size() - 1;
    holders_[memory] = 1;  // the caller's
    program_.inputs.push_back(name_of_value(id));
    store(id);
  }
  for (NodeId i = 0; i < graph_.nodes.size(); ++i) forward_node(i);

  pass_ = Pass::backward;
  const std::string loss = name_of_value(graph_.loss);
  program_.loss = loss;
  for (auto it = variables_.begin(); it != variables_.end();) {
    it = it->first.compare(0, 2, "S[") == 0 ? std::next(it) : variables_.erase(it);
  }
  held_.clear();
  std::fill(holders_.begin(), holders_.end(), 0);
  gradient_names_[graph_.loss] = python_name("d_" + loss);
  current_ = kNone;
  add_line(text(gradient_names_[graph_.loss], " = gradient"), 0,
           {{gradient_names_[graph_.loss], graph_.values[graph_.loss].type}},
           Memory::Kind::gradient);
  for (NodeId i = graph_.nodes.size(); i-- > 0;) {
    backward_node(i);
    for (const auto& [local, parameter] : graph_.nodes[i].parameters)
      give_if_complete(parameter, i);
    for (const ValueId input : graph_.nodes[i].inputs) give_if_complete(input, i);
  }
  program_.find_lifetimes();
  return std::move(program_);
}

bool Lowering::last_use(ValueId id, NodeId node) const {
  const auto& consumers = graph_.values[id].consumers;
  return !consumers.empty() && consumers.back() == node;
}

void Lowering::release_inputs(NodeId id) {
  for (const ValueId input : graph_.nodes[id].inputs) {
    const Value& value = graph_.values[input];
    const bool output = graph_.is_output(input);
    if (lazy_.contains(input)) {
      release_inputs(value.producer);
    } else if (last_use(input, id) && !output && value.role == Role::activation) {
      release(name_of_value(input));
    }
  }
}

void Lowering::forward_node(NodeId id) {
  const Node& node = graph_.nodes[id];
  current_ = id;
  if (is_lazy(id)) {
    Site site(*this, id, Site::Mode::forward);
    lazy_[node.outputs[0]] = node.op->rebuilt_slices(site);
    return;
  }
  newly_held_.clear();
  let_go_.clear();
  Site site(*this, id, Site::Mode::forward);
  node.op->forward(site);
  for (const ValueId output : node.outputs) {
    if (graph_.values[output].role != Role::hidden) store(output);
  }
  std::set<std::string> outputs;
  for (const ValueId output : node.outputs) {
    const Value& value = graph_.values[output];
    const bool wanted = graph_.is_output(output);
    if (!value.consumers.empty() || wanted) outputs.insert(name_of_value(output));
  }
  for (const std::string& name : std::vector<std::string>(newly_held_)) {
    if (!outputs.contains(name) && !name.starts_with("S[")) release(name);
  }
  release_inputs(id);
}

void Lowering::keep(const std::string& key, const std::string& variable, std::int64_t bytes,
                    const std::string& expression) {
  const std::string name = stored_name(key);
  if (variables_.contains(name)) return;
  Line line;
  line.code = text(name, " = ", expression);
  line.node = current_;
  std::size_t memory = variable.empty() ? kNone : memory_of(variable);
  if (memory == kNone) memory = add_memory(bytes, Memory::Kind::stored);
  if (program_.memories[memory].kind == Memory::Kind::activation) {
    program_.memories[memory].kind = Memory::Kind::stored;
  }
  program_.variables.push_back({name, memory});
  variables_[name] = program_.variables.size() - 1;
  line.defines.push_back(program_.variables.size() - 1);
  hold(name);
  program_.stored[key] = program_.memories[memory].bytes;
  program_.forward.push_back(std::move(line));
}

void Lowering::store(ValueId id) {
  const Stash& stash = stashes_[id];
  const Value& value = graph_.values[id];
  const std::string& variable = name_of_value(id);
  if (stash.stores_values()) store_values(id, variable);
  if (stash.stores_signs()) {
    keep(key_of_part(value.name, "signs"), {}, (elements(value.type.shape, options_.sizes) + 7) / 8,
         graph_.nodes[value.producer].op->packed_signs({graph_, graph_.nodes[value.producer]},
                                                       variable));
  }
}

std::string Lowering::bits_of(ValueId id) {
  const Storing& how = stashes_[id].how;
  if (!options_.adaptive || how.kind != Storing::Kind::quantize) return text(how.bits);
  program_.adaptive_bits[graph_.values[id].name] = how.bits;
  return text("bits[\"", graph_.values[id].name, "\"]");
}

void Lowering::store_values(ValueId id, const std::string& variable) {
  const Stash& stash = stashes_[id];
  const Value& value = graph_.values[id];
  if (stash.how.kind == Storing::Kind::keep) {
    keep(value.name, variable, 0, variable);
  } else {
    const std::string bits = bits_of(id);
    const bool random = packs_randomly(stash.how, bits);
    const std::string seed = random ? seed_of(Draw::rounding, id, false) : std::string();
    keep(value.name, {}, stored_bytes(stash.how, value.type, options_.sizes),
         pack_expression(stash.how, bits, variable, seed));
  }
}

// --- Backward ------------------------------------------------------------------------------------

std::set<ValueId> Lowering::read_by(NodeId id) const {
  std::set<ValueId> read;
  if (id >= graph_.nodes.size()) return read;
  const Node& node = graph_.nodes[id];
  for (const Need& need : node.op->needs({graph_, node}, is_split(graph_, stashes_, id))) {
    if (!need.signs) read.insert(value_of(node, need));
  }
  return read;
}

void Lowering::backward_node(NodeId id) {
  const Node& node = graph_.nodes[id];
  const bool trained = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
    return graph_.values[output].needs_gradient && !gradient_names_[output].empty();
  });
  if (!trained) return;
  current_ = id;
  kept_decoded_ = read_by(id - 1);
  count_readers(id);
  fetch_ahead(id);
  Site site(*this, id, Site::Mode::backward);
  node.op->backward(site);
  for (const ValueId output : node.outputs) {
    if (!gradient_names_[output].empty()) release(gradient_names_[output]);
  }
  for (auto it = decoded_.begin(); it != decoded_.end();) {
    if (kept_decoded_.contains(it->first)) {
      ++it;
    } else {
      release(it->second);  // what was decoded may now be overwritten through other names
      it = decoded_.erase(it);
    }
  }
  for (const auto& [value, name] : sliced_) release(name);
  sliced_.clear();
}

std::vector<ValueId> Lowering::decoded_from(ValueId id) const {
  const NodeId producer = graph_.values[id].producer;
  if (graph_.is_view(id)) return {graph_.nodes[producer].inputs[0]};
  if (!stashes_[id].rebuilt) return {};
  const Node& node = graph_.nodes[producer];
  std::vector<ValueId> sources;
  for (const Need& need :
       node.op->rebuild_needs({graph_, node}, is_split(graph_, stashes_, producer))) {
    if (!need.signs) sources.push_back(value_of(node, need));
  }
  return sources;
}

void Lowering::count_readers(NodeId id) {
  readers_.clear();
  const std::set<ValueId> read = read_by(id);
  std::vector<ValueId> open(read.begin(), read.end());
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (readers_[value]++ > 0) continue;
    const std::vector<ValueId> sources = decoded_from(value);
    open.insert(open.end(), sources.begin(), sources.end());
  }
}

bool Lowering::may_overwrite_decoded(ValueId id) const {
  const auto found = decoded_.find(id);
  if (found == decoded_.end() || !overwritable_.contains(found->second)) return false;
  const std::size_t memory = memory_of(found->second);
  return std::none_of(decoded_.begin(), decoded_.end(), [&](const auto& other) {
    const auto readers = readers_.find(other.first);
    const bool again = readers != readers_.end() && readers->second > 1;
    return memory_of(other.second) == memory && (again || kept_decoded_.contains(other.first));
  });
}

std::string Lowering::decode(ValueId id) {
  const Value& value = graph_.values[id];
  if (value.role == Role::parameter) return text("P[\"", value.name, "\"]");
  if (value.role == Role::buffer) return text("B[\"", value.name, "\"]");
  const auto known = decoded_.find(id);
  if (known != decoded_.end()) return known->second;
  const Stash& stash = stashes_[id];
  const std::string& name = name_of_value(id);
  if (graph_.is_view(id)) {
    decode_views(id);
    return name;
  }
  if (stash.rebuilt) {
    Site site(*this, value.producer, Site::Mode::rebuild);
    graph_.nodes[value.producer].op->rebuild(site);
    decoded_[id] = name;
    return name;
  }
  if (stash.how.kind == Storing::Kind::keep) return stored_name(value.name);
  if (stash.how.kind == Storing::Kind::offload) program_.fetches.push_back({value.name});
  add_line(text(name, " = ",
                unpack_expression(stash.how, bits_of(id), stored_name(value.name), value.type)),
           0, {{name, value.type}}, Memory::Kind::activation);
  overwritable_.insert(name);
  decoded_[id] = name;
  return name;
}

// From the first to the last: a view of a view of a view is no reason to recurse.
void Lowering::decode_views(ValueId id) {
  std::vector<NodeId> views;
  for (ValueId at = id; graph_.is_view(at) && !decoded_.contains(at);) {
    views.push_back(graph_.values[at].producer);
    at = graph_.nodes[views.back()].inputs[0];
  }
  for (auto view = views.rbegin(); view != views.rend(); ++view) {
    Site site(*this, *view, Site::Mode::rebuild);
    graph_.nodes[*view].op->forward(site);
    for (const ValueId each : graph_.nodes[*view].outputs) decoded_[each] = name_of_value(each);
  }
}

// --- The whole -----------------------------------------------------------------------------------

// Sums of bytes must fit in 64 bits, with room for copies, gradients, state and scratch.
Result<void> check_bytes(const Graph& graph, const Sizes& sizes) {
  double total = 0;
  bool fits = true;
  for (const Value& value : graph.values) {
    const TensorType& type = value.type;
    fits = fits &&
           (type.sparse ? extent(type.entries, sizes) : elements(type.shape, sizes)) < kMaxElements;
    total += static_cast<double>(bytes(value.type, sizes));
  }
  if (fits && total < static_cast<double>(std::int64_t{1} << 56)) return {};
  std::string given;
  for (const auto& [symbol, size] : sizes) given += text(" ", symbol, " = ", size);
  return too_large("the tensors of model '", graph.name, "' take at least ", rounded(total),
                   " bytes; use smaller numbers than", given);
}

Result<Program> lower(const Graph& graph, const Plan& plan, const LowerOptions& options) {
  RETURN_IF_ERROR(check_bytes(graph, options.sizes));
  TRY(auto stashes, decide(graph, plan, options.sizes));
  LowerOptions own = options;
  own.compact = plan.compact;
  own.lossy = std::any_of(stashes.begin(), stashes.end(), [](const Stash& stash) {
    return stash.stores_values() && is_lossy(stash.how);
  });
  own.waiting_bits = own.lossy ? plan.waiting_bits : 0;
  return Lowering(graph, own, std::move(stashes)).run();
}

}  // namespace tensorpress::model
