// Statements, and the checks of the whole.
#include "model/text/elaborate.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "files/bytes/text_files.h"
#include "model/graph/operator.h"
#include "model/text/elaborator.h"

namespace tensorpress::model {

Result<Graph> Elaborator::run() {
  TRY(const auto statements, parse(source_));
  for (const Statement& statement : statements) {
    if (statement.kind != Statement::Kind::block) continue;
    const std::string& name = statement.names[0];
    if (find_operator(name) != nullptr) {
      return error(statement.place, "'", name, "' is an operator; give the block another name");
    }
    if (!blocks_.emplace(name, &statement).second) {
      return error(statement.place, "there is already a block '", name, "' (line ",
                   blocks_.at(name)->place.line, ")");
    }
  }
  Scope top;
  RETURN_IF_ERROR(run_body(statements, top));
  RETURN_IF_ERROR(finish());
  return std::move(graph_);
}

Result<void> Elaborator::run_body(const std::vector<Statement>& body, Scope& scope) {
  for (const Statement& statement : body) {
    if (scope.returned) return error(statement.place, "this stands after 'return'");
    if (++steps_ > kMostSteps) {
      return error(statement.place, "the text makes more than ", kMostSteps, " steps");
    }
    RETURN_IF_ERROR(run_statement(statement, scope));
  }
  return {};
}

Result<void> Elaborator::run_statement(const Statement& statement, Scope& scope) {
  using Kind = Statement::Kind;
  const bool inside = !scope.calls.empty();
  switch (statement.kind) {
    case Kind::block:
      return {};
    case Kind::model:
      if (!graph_.name.empty()) return error(statement.place, "the model has a name already");
      graph_.name = statement.names[0];
      return {};
    case Kind::input:
    case Kind::target:
    case Kind::output:
      if (inside) return error(statement.place, "this cannot stand in a block");
      return statement.kind == Kind::output ? declare_output(statement, scope)
                                            : declare_input(statement, scope);
    case Kind::parameter:
      return declare_parameter(statement, scope);
    case Kind::assignment:
      return assign(statement, scope);
    case Kind::loss:
      if (inside) return error(statement.place, "the loss cannot stand in a block");
      return set_loss(statement, scope);
    case Kind::repeat:
      return repeat(statement, scope);
    case Kind::condition: {
      TRY(const Meaning condition, evaluate(statement.expressions[0], scope));
      const bool* truth = std::get_if<bool>(&condition.attribute);
      if (condition.is_tensor() || truth == nullptr) {
        return error(statement.expressions[0].place, "this is not true or false");
      }
      return run_body(*truth ? statement.body : statement.otherwise, scope);
    }
    case Kind::result:
      if (!inside) return error(statement.place, "'return' stands outside of a block");
      for (const TextExpression& expression : statement.expressions) {
        TRY(Meaning meaning, evaluate(expression, scope));
        scope.results.push_back(std::move(meaning));
      }
      scope.returned = true;
      return {};
  }
  return {};
}

Result<void> Elaborator::repeat(const Statement& statement, Scope& scope) {
  std::int64_t range[2] = {};
  for (int i = 0; i < 2; ++i) {
    TRY(range[i], whole_number(statement.expressions[static_cast<std::size_t>(i)], scope));
  }
  for (std::int64_t i = range[0]; i < range[1]; ++i) {
    if (++steps_ > kMostSteps) {
      return error(statement.place, "the text makes more than ", kMostSteps, " steps");
    }
    scope.names[statement.names[0]] = Meaning{{}, false, i};
    RETURN_IF_ERROR(run_body(statement.body, scope));
    if (scope.returned) break;
  }
  return {};
}

Result<Dim> Elaborator::declared_extent(const TextExpression& expression, Scope& scope,
                                        bool symbols) {
  const bool name = expression.kind == TextExpression::Kind::name;
  if (name && !scope.names.contains(expression.word)) {
    if (!symbols) {
      return error(expression.place, "'", expression.word,
                   "' is not a number here; only inputs and targets may have open dimensions");
    }
    if (std::find(graph_.symbols.begin(), graph_.symbols.end(), expression.word) ==
        graph_.symbols.end()) {
      graph_.symbols.push_back(expression.word);
    }
    return Dim{1, expression.word};
  }
  TRY(const std::int64_t extent, whole_number(expression, scope));
  if (extent < 0 || extent > kMaxElements) {
    return error(expression.place, "a dimension of ", extent, " is not possible");
  }
  return dim(extent);
}

Result<TensorType> Elaborator::declared_type(const Statement& statement, Scope& scope,
                                             bool symbols) {
  TensorType type;
  const auto element = parse_element(statement.element);
  if (!element) {
    return error(statement.place, "'", statement.element,
                 "' is not an element type; there are f32, f64, f16, bf16, i64, i32, u8 and bool");
  }
  type.element = *element;
  type.sparse = statement.sparse;
  for (const TextExpression& expression : statement.shape) {
    TRY(Dim extent, declared_extent(expression, scope, symbols));
    type.shape.push_back(std::move(extent));
  }
  if (type.sparse && type.shape.size() != 2) {
    return error(statement.place, "a csr matrix has two dimensions");
  }
  if (!type.sparse && !statement.entries.empty()) {
    return error(statement.entries[0].place, "only a csr matrix has a number of entries");
  }
  if (type.sparse && statement.entries.empty()) {
    type.entries = type.shape[0];
    type.entries.factor = std::min(kUsualEntries * type.entries.factor, kMaxElements);
  } else if (type.sparse) {
    TRY(type.entries, declared_extent(statement.entries[0], scope, symbols));
  }
  if (type.shape.size() > kMostDimensions) {
    return error(statement.place, "a tensor has at most ", kMostDimensions, " dimensions");
  }
  if (elements(type.shape, {}) >= kMaxElements) {
    return error(statement.place, "the tensor has too many elements");
  }
  return type;
}

Result<ValueId> Elaborator::add_value(std::string name, TensorType type, Role role, Place place) {
  if (name.size() > kLongestName) {
    return error(place, "a name of ", name.size(), " characters; the longest has ", kLongestName);
  }
  if (type.shape.size() > kMostDimensions) {
    return error(place, "a tensor has at most ", kMostDimensions, " dimensions");
  }
  for (const Dim& each : type.shape) {
    if (each.factor > kMaxElements) {
      return error(place, "an axis of ", to_text(each), " elements; there may be ", kMaxElements);
    }
  }
  if (graph_.values.size() == kMostValues) {
    return error(place, "the model has more than ", kMostValues, " tensors");
  }
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  value.role = role;
  value.place = place;
  value.needs_gradient = role == Role::parameter;
  graph_.values.push_back(std::move(value));
  return graph_.values.size() - 1;
}

Result<void> Elaborator::declare_input(const Statement& statement, Scope& scope) {
  const std::string& name = statement.names[0];
  if (scope.names.contains(name)) return error(statement.place, "there is already a '", name, "'");
  TRY(TensorType type, declared_type(statement, scope, true));
  const Role role = statement.kind == Statement::Kind::input ? Role::input : Role::target;
  if (graph_.inputs.size() == kMostDeclarations) {
    return error(statement.place, "the model has more than ", kMostDeclarations,
                 " inputs and targets");
  }
  if (!names_.insert(name).second) {
    return error(statement.place, "there is already an activation '", name,
                 "'; declare inputs and targets before the calls");
  }
  TRY(const ValueId id, add_value(name, std::move(type), role, statement.place));
  graph_.inputs.push_back(id);
  scope.names[name] = Meaning{{id}, false, {}};
  return {};
}

Result<void> Elaborator::declare_output(const Statement& statement, Scope& scope) {
  const auto found = scope.names.find(statement.names[0]);
  if (found == scope.names.end() || found->second.tensors.size() != 1) {
    return error(statement.place, "'", statement.names[0], "' is not a tensor");
  }
  if (graph_.outputs.size() == kMostDeclarations) {
    return error(statement.place, "the model has more than ", kMostDeclarations, " outputs");
  }
  graph_.outputs.push_back(found->second.tensors[0]);
  return {};
}

Result<void> Elaborator::declare_parameter(const Statement& statement, Scope& scope) {
  const std::string& name = statement.names[0];
  TRY(const TensorType type, declared_type(statement, scope, false));
  std::string init = "init.zeros_({})";
  if (!statement.expressions.empty()) {
    TRY(const Meaning given, evaluate(statement.expressions[0], scope));
    if (given.is_tensor()) return declare_again(statement, type, given, scope);
    const auto* whole = std::get_if<std::int64_t>(&given.attribute);
    const auto* real = std::get_if<double>(&given.attribute);
    const auto* word = std::get_if<std::string>(&given.attribute);
    if (word != nullptr && *word == "normal") {
      init = "init.normal_({}, std=0.02)";
    } else if (whole != nullptr || (real != nullptr && std::isfinite(*real))) {
      init =
          text("init.constant_({}, ", whole != nullptr ? static_cast<double>(*whole) : *real, ")");
    } else {
      return error(statement.expressions[0].place,
                   "a parameter starts with a finite number or \"normal\", or is another one: "
                   "@layer.weight");
    }
  }
  TRY(const ValueId id, find_or_make_parameter({name, type, init, false}, scope, statement.place));
  scope.names[name] = Meaning{{id}, false, {}};
  return {};
}

Result<void> Elaborator::declare_again(const Statement& statement, const TensorType& type,
                                       const Meaning& given, Scope& scope) {
  const ValueId id = given.tensors[0];
  const Value& value = graph_.values[id];
  const Place place = statement.expressions[0].place;
  if (given.tensors.size() != 1 || value.role != Role::parameter) {
    return error(place, "a parameter can be another parameter, not another tensor");
  }
  if (value.type != type) {
    return error(place, "'", value.name, "' is ", to_text(value.type), ", not ", to_text(type));
  }
  const std::string name = scope.path + statement.names[0];
  if (!parameters_.emplace(name, id).second) {
    if (!scope.shared) return error(statement.place, "there is already a parameter '", name, "'");
  } else {
    graph_.aliases.emplace_back(name, id);
  }
  scope.names[statement.names[0]] = Meaning{{id}, false, {}};
  return {};
}

Result<void> Elaborator::set_loss(const Statement& statement, Scope& scope) {
  if (graph_.loss != kNone) return error(statement.place, "the model has a loss already");
  TRY(const Meaning loss, evaluate(statement.expressions[0], scope));
  if (loss.tensors.size() != 1) return error(statement.place, "the loss is not a tensor");
  const Value& value = graph_.values[loss.tensors[0]];
  if (!value.type.shape.empty() || !is_floating(value.type.element)) {
    return error(statement.expressions[0].place, "the loss must be one floating number, but is ",
                 to_text(value.type));
  }
  if (!value.needs_gradient || value.producer == kNone) {
    return error(statement.expressions[0].place, "the loss does not depend on any parameter");
  }
  graph_.loss = loss.tensors[0];
  return {};
}

Result<void> Elaborator::assign(const Statement& statement, Scope& scope) {
  TRY(Meaning meaning, evaluate(statement.expressions[0], scope));
  if (statement.names.size() == 1) {
    scope.names[statement.names[0]] = std::move(meaning);
    return {};
  }
  if (meaning.tensors.size() != statement.names.size()) {
    return error(statement.place, statement.names.size(), " names take ", meaning.tensors.size(),
                 meaning.tensors.size() == 1 ? " tensor" : " tensors");
  }
  for (std::size_t i = 0; i < statement.names.size(); ++i) {
    scope.names[statement.names[i]] = Meaning{{meaning.tensors[i]}, false, {}};
  }
  return {};
}

Result<void> Elaborator::finish() {
  if (graph_.loss == kNone) {
    return error({}, "the model has no loss; the last line is loss cross_entropy(h, y), or alike");
  }
  if (graph_.name.empty()) graph_.name = "model";
  for (const ValueId id : graph_.inputs) {
    const Value& value = graph_.values[id];
    if (value.consumers.empty()) {
      return error(value.place, value.role == Role::input ? "input '" : "target '", value.name,
                   "' is never used");
    }
  }
  std::vector<bool> reached(graph_.nodes.size(), false);
  std::vector<ValueId> open = graph_.outputs;
  open.push_back(graph_.loss);
  while (!open.empty()) {
    const Value& value = graph_.values[open.back()];
    open.pop_back();
    if (value.producer == kNone || reached[value.producer]) continue;
    reached[value.producer] = true;
    const auto& inputs = graph_.nodes[value.producer].inputs;
    open.insert(open.end(), inputs.begin(), inputs.end());
  }
  for (NodeId i = 0; i < graph_.nodes.size(); ++i) {
    if (!reached[i]) {
      return error(graph_.nodes[i].place, "the result of '", graph_.nodes[i].name,
                   "' is never used");
    }
  }
  return {};
}

Result<Graph> elaborate(const SourceText& source) {
  return Elaborator(source).run();
}

Result<Graph> read_model(const std::string& path) {
  TRY(std::string content, files::read_text(path, SourceText::kMaxBytes, "a model's text"));
  return elaborate(SourceText(path, std::move(content)));
}

}  // namespace tensorpress::model
