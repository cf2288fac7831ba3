#include "model/lowering/line_builder.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "model/graph/python_names.h"
#include "model/program/callees.h"

namespace tensorpress::model {

Local unused() {
  return {"_"};
}

LineBuilder::LineBuilder(const Setting& setting)
    : setting_(setting), value_names_(setting.graph.values.size()) {
  for (const std::string_view word : reserved_names()) taken_.emplace(word);
  for (const std::string& symbol : setting.graph.symbols) taken_.insert(symbol);
  program_.update_in_backward = !setting.options.optimizer.empty();
}

// --- Names ---------------------------------------------------------------------------------------

Local LineBuilder::fresh(const std::string& dotted) {
  std::string name;
  for (const char c : dotted) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "v" + name;
  if (taken_.insert(name).second) return {name};
  int& number = numbers_.try_emplace(name, 1).first->second;
  std::string numbered;
  do {
    numbered = text(name, "_", ++number);
  } while (!taken_.insert(numbered).second);
  return {numbered};
}

const Local& LineBuilder::name_of(ValueId id) {
  std::optional<Local>& name = value_names_[id];
  if (!name) name = fresh(setting_.graph.values[id].name);
  return *name;
}

// --- Memory --------------------------------------------------------------------------------------

std::size_t LineBuilder::memory_of(const Name& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? kNone : program_.variables[found->second].memory;
}

bool LineBuilder::is_alone(const Name& name) const {
  const std::size_t memory = memory_of(name);
  return memory != kNone && holders_[memory] == 1;
}

std::size_t LineBuilder::add_memory(std::int64_t bytes, Memory::Kind kind) {
  program_.memories.push_back({bytes, kind});
  holders_.push_back(0);
  return program_.memories.size() - 1;
}

std::vector<std::size_t> LineBuilder::memories_besides(std::size_t memory,
                                                       const std::vector<Name>& names) const {
  std::set<std::size_t> held;  // once each: a concatenation may have the same part many times
  for (const Name& name : names) {
    const auto found = variables_.find(name);
    if (found == variables_.end()) continue;
    const std::vector<std::size_t> all = program_.variables[found->second].memories();
    held.insert(all.begin(), all.end());
  }
  held.erase(memory);
  return {held.begin(), held.end()};
}

void LineBuilder::hold(const Name& name) {
  const bool fresh = held_.insert(name).second && !let_go_.contains(name);
  if (fresh && pass_ == Pass::forward) newly_held_.push_back(name);
  for (const std::size_t memory : program_.variables[variables_.at(name)].memories()) {
    ++holders_[memory];
  }
}

void LineBuilder::release(const Name& name) {
  if (held_.erase(name) == 0) return;
  if (pass_ == Pass::forward &&
      std::find(newly_held_.begin(), newly_held_.end(), name) == newly_held_.end()) {
    let_go_.insert(name);
  }
  for (const std::size_t memory : program_.variables[variables_.at(name)].memories()) {
    --holders_[memory];
  }
}

void LineBuilder::add_variable(Line& line, const Name& name, std::size_t memory,
                               std::vector<std::size_t> also) {
  program_.variables.push_back({name, memory, std::move(also)});
  variables_[name] = program_.variables.size() - 1;
  line.defines.push_back(program_.variables.size() - 1);
  hold(name);
}

// --- Lines ---------------------------------------------------------------------------------------

void LineBuilder::append(Line line) {
  line.node = current_;
  (pass_ == Pass::forward ? program_.forward : program_.backward).push_back(std::move(line));
}

void LineBuilder::define(const std::vector<Definition>& results, const Expression& value,
                         std::int64_t scratch, Memory::Kind kind) {
  Line line{.value = value, .scratch = scratch};
  const Sharing sharing = sharing_of(value);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Definition& each = results[i];
    line.targets.push_back(each.variable);
    const Name& name = *each.variable.name();
    if (name == Name(unused())) continue;
    const bool shares = !sharing.none() && (i == 0 || sharing.all_results);
    // A variable that shows several others is in the memory of the first.
    const Name* with = shares ? sharing.with : nullptr;
    if (!each.holds.empty()) with = &each.holds.front();
    std::size_t memory = with == nullptr ? kNone : memory_of(*with);
    if (memory == kNone) {
      const bool own = !shares && with == nullptr;
      memory = add_memory(own ? bytes(each.type, setting_.options.sizes) : 0, kind);
    }
    const auto known = variables_.find(name);
    if (known != variables_.end() && program_.variables[known->second].memory == memory) continue;
    release(name);
    add_variable(line, name, memory, memories_besides(memory, each.holds));
  }
  append(std::move(line));
}

void LineBuilder::add_to(const Expression& target, const Expression& value, std::int64_t scratch) {
  append({.targets = {target}, .value = value, .adds = true, .scratch = scratch});
}

void LineBuilder::run(const Expression& value, std::int64_t scratch) {
  append({.value = value, .scratch = scratch});
}

void LineBuilder::keep(const Stored& stored, const Expression& value, std::int64_t bytes,
                       bool on_host) {
  if (knows(stored)) return;
  const Name* variable = value.name();
  std::size_t memory = variable == nullptr ? kNone : memory_of(*variable);
  if (memory == kNone) memory = add_memory(bytes, Memory::Kind::stored);
  Memory& kept = program_.memories[memory];
  if (kept.kind == Memory::Kind::activation) kept.kind = Memory::Kind::stored;
  kept.on_host = on_host;
  Line line{.targets = {stored}, .value = value};
  add_variable(line, stored, memory, {});
  program_.stored[stored.key] = kept.bytes;
  append(std::move(line));
}

// --- The two passes ------------------------------------------------------------------------------

void LineBuilder::add_input(ValueId id) {
  const std::size_t memory = add_memory(
      bytes(setting_.graph.values[id].type, setting_.options.sizes), Memory::Kind::input);
  const Local& name = name_of(id);
  program_.variables.push_back({name, memory});
  variables_[name] = program_.variables.size() - 1;
  holders_[memory] = 1;  // the caller's
  program_.inputs.push_back(name.name);
}

void LineBuilder::begin_forward(NodeId node) {
  begin(node);
  newly_held_.clear();
  let_go_.clear();
}

void LineBuilder::end_forward(const std::set<Name>& outputs) {
  for (const Name& name : std::vector<Name>(newly_held_)) {
    if (!outputs.contains(name) && !std::holds_alternative<Stored>(name)) release(name);
  }
}

void LineBuilder::begin_backward() {
  pass_ = Pass::backward;
  std::erase_if(variables_,
                [](const auto& each) { return !std::holds_alternative<Stored>(each.first); });
  held_.clear();
  std::fill(holders_.begin(), holders_.end(), 0);
  begin(kNone);
}

}  // namespace tensorpress::model
