// Calls of blocks and operators, and the parameters that operators own or share.
#include <algorithm>

#include "base/near_names.h"
#include "model/graph/operator.h"
#include "model/text/elaborator.h"

namespace tensorpress::model {
namespace {

/// A path stands in comments and strings of the emitted file, and between dots in names of modules:
/// letters, digits and underscores, and dots between such.
bool is_part_of_path(std::string_view word) {
  char before = '.';
  for (const char c : word) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (!letter && !digit && (c != '.' || before == '.')) return false;
    before = c;
  }
  return before != '.';
}

}  // namespace

Result<std::string> Elaborator::fill_path(const std::string& path, Place place, Scope& scope) {
  std::string filled;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '{') {
      filled += path[i];
      continue;
    }
    const std::size_t end = path.find('}', i);
    if (end == std::string::npos) return error(place, "the path has '{' without '}'");
    TRY(const TextExpression inner,
        parse_expression(source_, place, std::string_view(path).substr(i + 1, end - i - 1)));
    TRY(const Meaning meaning, evaluate(inner, scope));
    const auto* number = std::get_if<std::int64_t>(&meaning.attribute);
    const auto* word = std::get_if<std::string>(&meaning.attribute);
    if (meaning.is_tensor() || (number == nullptr && word == nullptr)) {
      return error(place, "{", path.substr(i + 1, end - i - 1),
                   "} is not a whole number or a word");
    }
    if (word != nullptr && !is_part_of_path(*word)) {
      return error(place, "{", path.substr(i + 1, end - i - 1), "} is \"", *word,
                   "\"; a path has letters, digits and underscores, and dots between them");
    }
    filled += number != nullptr ? text(*number) : *word;
    i = end;
  }
  return filled;
}

Result<Meaning> Elaborator::evaluate_call(const TextExpression& call, Scope& scope) {
  TRY(const std::string instance, fill_path(call.instance, call.place, scope));
  const std::string path = scope.path + instance;
  if (path.size() > kLongestName) {
    return error(call.place, "a name of ", path.size(), " characters; the longest has ",
                 kLongestName);
  }
  const bool shared = call.shared || scope.shared;
  if (!instance.empty()) {
    if (!shared && !instances_.insert(path).second) {
      return error(call.place, "there is already a '", path,
                   "'; to use its parameters again, write share ", instance, ": ...");
    }
    if (call.shared && !instances_.contains(path)) {
      return error(call.place, "there is no '", path, "' before this line to share");
    }
  } else if (call.shared) {
    return error(call.place, "'share' needs the name of what it shares: share NAME: ...");
  }
  const auto block = blocks_.find(call.word);
  if (block != blocks_.end()) return call_block(*block->second, call, path, shared, scope);
  const Operator* const op = find_operator(call.word);
  if (op == nullptr) {
    std::vector<std::string_view> known = operator_names();
    for (const auto& [name, statement] : blocks_) known.push_back(name);
    return error(call.place, "there is no operator or block '", call.word, "'",
                 did_you_mean(call.word, known));
  }
  return call_operator(*op, call, instance.empty() ? std::string() : path, shared, scope);
}

Result<Meaning> Elaborator::call_block(const Statement& block, const TextExpression& call,
                                       const std::string& path, bool shared, Scope& scope) {
  const std::string& name = block.names[0];
  if (std::find(scope.calls.begin(), scope.calls.end(), name) != scope.calls.end()) {
    std::string cycle;
    for (const std::string& each : scope.calls) cycle += each + " -> ";
    return error(call.place, "a block cannot contain itself: ", cycle, name);
  }
  if (scope.calls.size() == kDeepestCalls) {
    return error(call.place, "blocks are nested deeper than ", kDeepestCalls);
  }
  Scope inner;
  inner.path = call.instance.empty() ? scope.path : path + ".";
  inner.shared = shared;
  inner.calls = scope.calls;
  inner.calls.push_back(name);
  std::size_t position = 1;
  for (std::size_t i = 0; i < call.children.size(); ++i) {
    TRY(Meaning meaning, evaluate(call.children[i], scope));
    std::string parameter = call.keywords[i];
    if (parameter.empty()) {
      if (position >= block.names.size()) {
        return error(call.children[i].place, "block '", name, "' takes ", block.names.size() - 1,
                     " arguments");
      }
      parameter = block.names[position++];
    } else if (std::find(block.names.begin() + 1, block.names.end(), parameter) ==
               block.names.end()) {
      return error(call.children[i].place, "block '", name, "' has no parameter '", parameter, "'");
    }
    if (!inner.names.emplace(parameter, std::move(meaning)).second) {
      return error(call.children[i].place, "'", parameter, "' is given twice");
    }
  }
  for (std::size_t i = 1; i < block.names.size(); ++i) {
    if (inner.names.contains(block.names[i])) continue;
    const TextExpression& fallback = block.defaults[i - 1];
    if (fallback.kind == TextExpression::Kind::none && fallback.place.line == 0) {
      return error(call.place, "block '", name, "' needs '", block.names[i], "'");
    }
    TRY(Meaning meaning, evaluate(fallback, inner));
    inner.names.emplace(block.names[i], std::move(meaning));
  }
  RETURN_IF_ERROR(run_body(block.body, inner));
  if (!inner.returned) return error(call.place, "block '", name, "' returns nothing");
  Meaning result;
  if (inner.results.size() == 1) return std::move(inner.results[0]);
  for (const Meaning& each : inner.results) {
    if (each.tensors.size() != 1) {
      return error(call.place, "block '", name, "' returns something that is not a tensor");
    }
    result.tensors.push_back(each.tensors[0]);
  }
  return result;
}

Result<Meaning> Elaborator::call_operator(const Operator& op, const TextExpression& call,
                                          std::string path, bool shared, Scope& scope) {
  CallArguments arguments;
  for (std::size_t i = 0; i < call.children.size(); ++i) {
    const TextExpression& child = call.children[i];
    if (child.kind == TextExpression::Kind::parameter && !call.keywords[i].empty()) {
      TRY(const std::string tied, fill_path(child.word, child.place, scope));
      TRY(const ValueId id, existing_parameter(tied, child.place, scope));
      arguments.tied.emplace_back(call.keywords[i], id);
      continue;
    }
    TRY(const Meaning meaning, evaluate(child, scope));
    if (meaning.is_tensor()) {
      if (!call.keywords[i].empty()) {
        return error(child.place, "tensors are given by position, not as '", call.keywords[i], "'");
      }
      if (arguments.attributes_begun) {
        return error(child.place, "a tensor stands after other arguments");
      }
      arguments.tensors.insert(arguments.tensors.end(), meaning.tensors.begin(),
                               meaning.tensors.end());
    } else {
      arguments.attributes_begun = true;
      arguments.attributes.push_back({call.keywords[i], meaning.attribute, child.place});
    }
  }
  auto attributes = match_attributes(op.signature(), arguments);
  if (!attributes.ok()) {
    return error(arguments.wrong.line == 0 ? call.place : arguments.wrong,
                 attributes.error().message);
  }
  return make_node(op, arguments, std::move(attributes).value(), std::move(path), shared,
                   call.place, scope);
}

Result<Meaning> Elaborator::apply(const char* name, std::vector<ValueId> tensors,
                                  std::vector<std::pair<std::string, Attribute>> given, Place place,
                                  Scope& scope) {
  const Operator* const op = find_operator(name);
  if (op == nullptr) return error(place, "there is no operator '", name, "'");
  CallArguments arguments;
  arguments.tensors = std::move(tensors);
  for (auto& [key, value] : given) arguments.attributes.push_back({key, value, place});
  auto attributes = match_attributes(op->signature(), arguments);
  if (!attributes.ok()) return error(place, attributes.error().message);
  return make_node(*op, arguments, std::move(attributes).value(), {}, scope.shared, place, scope);
}

std::string Elaborator::unique_name(const std::string& wanted) {
  std::string name = wanted;
  while (!names_.insert(name).second) name = text(wanted, "_", ++numbers_[wanted] + 1);
  return name;
}

Result<Meaning> Elaborator::make_node(const Operator& op, const CallArguments& arguments,
                                      Attributes attributes, std::string path, bool shared,
                                      Place place, Scope& scope) {
  if (graph_.nodes.size() == kMostNodes) {
    return error(place, "the model has more than ", kMostNodes, " operations");
  }
  if (arguments.tensors.size() > kMostTensors) {
    return error(place, op.signature().name, " has ", arguments.tensors.size(),
                 " tensors; there may be ", kMostTensors);
  }
  std::vector<TensorType> types;
  for (const ValueId id : arguments.tensors) types.push_back(graph_.values[id].type);
  auto inferred = op.infer({types, attributes});
  if (!inferred.ok()) {
    return error(place, op.signature().name, ": ", inferred.error().message);
  }
  const bool named = !path.empty();
  if (!named) path = text(scope.path, op.signature().name);
  if (!named && !inferred->parameters.empty()) {
    return error(place, op.signature().name,
                 " has parameters and needs a name: NAME: ", op.signature().name, "(...)");
  }
  Node node;
  node.op = &op;
  node.place = place;
  node.inputs = arguments.tensors;
  node.attributes = std::move(attributes);
  Scope owner;
  owner.path = path + ".";
  owner.shared = shared;
  bool gradient = false;
  bool constant = inferred->parameters.empty();
  for (const ParameterSpec& spec : inferred->parameters) {
    TRY(const ValueId id, parameter_of(spec, arguments, owner, place));
    node.parameters.emplace_back(spec.name, id);
    gradient = gradient || graph_.values[id].needs_gradient;
  }
  for (const auto& [local, id] : arguments.tied) {
    const bool known = std::any_of(inferred->parameters.begin(), inferred->parameters.end(),
                                   [&](const ParameterSpec& spec) { return spec.name == local; });
    if (!known) {
      return error(place, op.signature().name, " has no parameter '", local, "' to tie");
    }
  }
  node.name = unique_name(path);
  const NodeId node_id = graph_.nodes.size();
  for (const ValueId id : node.inputs) {
    graph_.values[id].consumers.push_back(node_id);
    gradient = gradient || graph_.values[id].needs_gradient;
    constant = constant && graph_.values[id].constant;
  }
  Meaning meaning;
  const std::size_t visible = inferred->outputs.size();
  for (std::size_t j = 0; j < visible; ++j) {
    const TensorType& type = inferred->outputs[j];
    const std::string name = visible == 1 ? node.name : unique_name(text(node.name, ".", j));
    TRY(const ValueId id, add_value(name, type, Role::activation, place));
    graph_.values[id].producer = node_id;
    graph_.values[id].output = j;
    graph_.values[id].needs_gradient = gradient && is_floating(type.element);
    graph_.values[id].constant = constant;
    node.outputs.push_back(id);
    meaning.tensors.push_back(id);
  }
  for (const TensorType& type : inferred->hidden) {
    TRY(const ValueId id, add_value(unique_name(text(node.name, ".", inferred->hidden_name)), type,
                                    Role::hidden, place));
    graph_.values[id].producer = node_id;
    graph_.values[id].output = node.outputs.size();
    node.outputs.push_back(id);
  }
  graph_.nodes.push_back(std::move(node));
  return meaning;
}

Result<ValueId> Elaborator::existing_parameter(const std::string& path, Place place,
                                               const Scope& scope) {
  for (const std::string& full : {scope.path + path, path}) {
    const auto found = parameters_.find(full);
    if (found != parameters_.end()) return found->second;
  }
  std::vector<std::string_view> known;
  for (const auto& [name, id] : parameters_) known.push_back(name);
  return error(place, "there is no parameter '", path, "' before this line",
               did_you_mean(path, known));
}

Result<ValueId> Elaborator::parameter_of(const ParameterSpec& spec, const CallArguments& arguments,
                                         const Scope& owner, Place place) {
  for (const auto& [local, id] : arguments.tied) {
    if (local != spec.name) continue;
    if (graph_.values[id].type != spec.type) {
      return error(place, "'", graph_.values[id].name, "' is ", to_text(graph_.values[id].type),
                   ", but the ", local, " here is ", to_text(spec.type));
    }
    const std::string alias = owner.path + spec.name;
    if (!parameters_.emplace(alias, id).second && !owner.shared) {
      return error(place, "there is already a parameter '", alias, "'");
    }
    graph_.aliases.emplace_back(alias, id);
    return id;
  }
  return find_or_make_parameter(spec, owner, place);
}

Result<ValueId> Elaborator::find_or_make_parameter(const ParameterSpec& spec, const Scope& owner,
                                                   Place place) {
  const std::string name = owner.path + spec.name;
  const auto found = parameters_.find(name);
  if (found != parameters_.end()) {
    if (!owner.shared) return error(place, "there is already a parameter '", name, "'");
    const Value& value = graph_.values[found->second];
    if (value.type != spec.type) {
      return error(place, "'", name, "' is ", to_text(value.type), " and cannot be shared as ",
                   to_text(spec.type));
    }
    return found->second;
  }
  if (owner.shared) return error(place, "there is no parameter '", name, "' to share");
  parameter_elements_ += elements(spec.type.shape, {});
  if (parameter_elements_ > kMaxElements) {
    return error(place, "the parameters have more than ", kMaxElements, " elements");
  }
  TRY(const ValueId id,
      add_value(name, spec.type, spec.buffer ? Role::buffer : Role::parameter, place));
  graph_.values[id].init = spec.init;
  (spec.buffer ? graph_.buffers : graph_.parameters).push_back(id);
  parameters_.emplace(name, id);
  return id;
}

}  // namespace tensorpress::model
