#include "model/lowering/decoder.h"

#include <algorithm>

#include "model/lowering/packing.h"
#include "model/lowering/parts.h"
#include "model/planner/offload.h"
#include "model/program/walk.h"

namespace tensorpress::model {

Decoder::Decoder(Parts& parts) : parts_(parts), slices_(parts.setting) {}

// --- Storing -------------------------------------------------------------------------------------

void Decoder::store(ValueId id) {
  const Stash& stash = parts_.setting.stashes[id];
  const Value& value = parts_.setting.graph.values[id];
  const Local& variable = parts_.lines.name_of(id);
  if (stash.stores_values()) store_values(id);
  if (stash.stores_signs()) {
    const NodeView producer = parts_.setting.view(value.producer);
    parts_.lines.keep(stored_part(value.name, "signs"),
                      producer.node.op->packed_signs(producer, variable),
                      (elements(value.type.shape, parts_.setting.options.sizes) + 7) / 8);
  }
}

Expression Decoder::bits_of(ValueId id) {
  const Storing& how = parts_.setting.stashes[id].how;
  const std::string& name = parts_.setting.graph.values[id].name;
  if (!parts_.setting.options.adaptive || how.kind != Storing::Kind::quantize) return how.bits;
  parts_.lines.program().adaptive_bits[name] = how.bits;
  return word("bits")[{name}];
}

void Decoder::store_values(ValueId id) {
  const Storing& how = parts_.setting.stashes[id].how;
  const Value& value = parts_.setting.graph.values[id];
  const Local& variable = parts_.lines.name_of(id);
  const Stored stored{value.name};
  if (how.kind == Storing::Kind::keep) {
    parts_.lines.keep(stored, variable, 0);
    return;
  }
  const Expression bits = bits_of(id);
  const bool random = packs_randomly(how, bits);
  const Expression seed = random ? parts_.seed_of(Draw::rounding, id, false) : none();
  parts_.lines.keep(stored, pack_expression(how, bits, variable, seed),
                    stored_bytes(how, value.type, parts_.setting.options.sizes),
                    how.kind == Storing::Kind::offload);
}

// --- Around a node -------------------------------------------------------------------------------

void Decoder::begin(NodeId id) {
  kept_ = parts_.setting.read_by(id - 1);
  count_readers(id);
  fetch_ahead(id);
}

void Decoder::end() {
  std::erase_if(decoded_, [&](const auto& each) {
    if (kept_.contains(each.first)) return false;
    parts_.lines.release(each.second);  // it may now be overwritten through other names
    return true;
  });
  for (const auto& [value, name] : sliced_) parts_.lines.release(name);
  sliced_.clear();
}

void Decoder::count_readers(NodeId id) {
  readers_.clear();
  const std::set<ValueId> read = parts_.setting.read_by(id);
  std::vector<ValueId> open(read.begin(), read.end());
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (readers_[value]++ > 0) continue;
    const std::vector<ValueId> sources = parts_.setting.decoded_from(value);
    open.insert(open.end(), sources.begin(), sources.end());
  }
}

// Values that wait in the host's memory come back one product ahead of the node that reads them:
// the copy over the link can then run while a convolution or a matrix product computes.
void Decoder::fetch_ahead(NodeId id) {
  const Setting& setting = parts_.setting;
  for (const ValueId read : setting.offloaded_for(id)) fetched_.erase(read);
  if (is_product(setting.view(id), setting.options.sizes)) {
    for (NodeId next = id; next-- > 0;) {
      for (const ValueId ahead : setting.offloaded_for(next)) {
        const bool here = decoded_.contains(ahead);
        decode(ahead);
        if (!here) parts_.lines.program().fetches.back().during = id;
        fetched_.insert(ahead);
      }
      if (is_product(setting.view(next), setting.options.sizes)) break;
    }
  }
  kept_.insert(fetched_.begin(), fetched_.end());
}

// --- Decoding ------------------------------------------------------------------------------------

Expression Decoder::decode(ValueId id) {
  const Value& value = parts_.setting.graph.values[id];
  if (value.role == Role::parameter) return Expression(ExpressionNode{Parameter{value.name}});
  if (value.role == Role::buffer) return Expression(ExpressionNode{Buffer{value.name, false}});
  const auto known = decoded_.find(id);
  if (known != decoded_.end()) return known->second;
  const Stash& stash = parts_.setting.stashes[id];
  const Local name = parts_.lines.name_of(id);
  if (parts_.setting.graph.is_view(id)) {
    decode_views(id);
    return name;
  }
  if (stash.rebuilt) {
    Site site(parts_, value.producer, Site::Mode::rebuild);
    parts_.setting.graph.nodes[value.producer].op->rebuild(site);
    decoded_.insert_or_assign(id, name);
    return name;
  }
  const Stored stored{value.name};
  if (stash.how.kind == Storing::Kind::keep) return stored;
  if (stash.how.kind == Storing::Kind::offload) {
    parts_.lines.program().fetches.push_back({value.name});
  }
  parts_.lines.define({{name, value.type}},
                      unpack_expression(stash.how, bits_of(id), stored, value.type), 0,
                      Memory::Kind::activation);
  allow_overwriting(name);
  decoded_.insert_or_assign(id, name);
  return name;
}

// From the first to the last: a view of a view of a view is no reason to recurse.
void Decoder::decode_views(ValueId id) {
  const Graph& graph = parts_.setting.graph;
  std::vector<NodeId> views;
  for (ValueId at = id; graph.is_view(at) && !decoded_.contains(at);) {
    views.push_back(graph.values[at].producer);
    at = graph.nodes[views.back()].inputs[0];
  }
  for (auto view = views.rbegin(); view != views.rend(); ++view) {
    Site site(parts_, *view, Site::Mode::rebuild);
    graph.nodes[*view].op->forward(site);
    for (const ValueId each : graph.nodes[*view].outputs) {
      decoded_.insert_or_assign(each, parts_.lines.name_of(each));
    }
  }
}

std::optional<Local> Decoder::decode_slices(ValueId id) {
  if (!has_slices(id) || decoded_.contains(id)) return std::nullopt;
  const auto known = sliced_.find(id);
  if (known != sliced_.end()) return known->second;
  const Value& value = parts_.setting.graph.values[id];
  const Stash& stash = parts_.setting.stashes[id];
  const Local name = parts_.lines.fresh(value.name + "_slices");
  const auto made = [&]() -> Expression {
    if (!stash.rebuilt) {
      return unpack_slices_expression(stash.how, bits_of(id), Stored{value.name}, value.type);
    }
    Site site(parts_, value.producer, Site::Mode::rebuild);
    return parts_.setting.graph.nodes[value.producer].op->rebuilt_slices(site);
  };
  const Expression slices = made();
  // It holds what it decodes: the stored bytes live as long as the slices.
  std::vector<Name> holds = names_read(slices);
  std::erase_if(holds, [&](const Name& read) { return !parts_.lines.knows(read); });
  parts_.lines.define({{name, value.type, std::move(holds)}}, slices, 0, Memory::Kind::activation);
  sliced_.insert_or_assign(id, name);
  return name;
}

// --- Overwriting ---------------------------------------------------------------------------------

void Decoder::allow_overwriting_as(const Local& name, const Name& other) {
  if (overwritable_.contains(other)) overwritable_.insert(name);
}

bool Decoder::may_overwrite(ValueId id) const {
  const auto found = decoded_.find(id);
  if (found == decoded_.end() || !overwritable_.contains(found->second)) return false;
  const std::size_t memory = parts_.lines.memory_of(found->second);
  return std::none_of(decoded_.begin(), decoded_.end(), [&](const auto& other) {
    const auto readers = readers_.find(other.first);
    const bool again = readers != readers_.end() && readers->second > 1;
    return parts_.lines.memory_of(other.second) == memory && (again || kept_.contains(other.first));
  });
}

}  // namespace tensorpress::model
