#include "model/elaborate.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>

#include "base/errors.h"
#include "files/byte_files.h"
#include "model/arguments.h"
#include "model/operator.h"

namespace tensorpress::model {
namespace {

// What a hostile text may make of a few lines of repetition.
constexpr std::size_t kMostNodes = 200000;
constexpr std::size_t kMostSteps = 2000000;
constexpr std::size_t kDeepestCalls = 64;

/// What a name stands for or an expression gives: tensors or an attribute.
struct Meaning {
  std::vector<ValueId> tensors;
  bool list = false;  // tensors in brackets, for cat([a, b])
  Attribute attribute;
  bool is_tensor() const { return !tensors.empty(); }
};

struct Scope {
  std::map<std::string, Meaning> names;
  std::string path;     // of the instance, with a dot at the end, or empty
  bool shared = false;  // parameters exist already
  std::vector<Meaning> results;
  bool returned = false;
  std::vector<std::string> calls;  // blocks that are being expanded
};

class Elaborator {
 public:
  explicit Elaborator(const SourceText& source) : source_(source) {}

  Result<Graph> run() {
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

 private:
  template <class... Parts>
  Error error(Place place, const Parts&... parts) const {
    return source_.error_at(place, text(parts...));
  }

  // --- Statements --------------------------------------------------------------------------------
  Result<void> run_body(const std::vector<Statement>& body, Scope& scope) {
    for (const Statement& statement : body) {
      if (scope.returned) return error(statement.place, "this stands after 'return'");
      if (++steps_ > kMostSteps) {
        return error(statement.place, "the text makes more than ", kMostSteps, " steps");
      }
      RETURN_IF_ERROR(run_statement(statement, scope));
    }
    return {};
  }

  Result<void> run_statement(const Statement& statement, Scope& scope) {
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
        for (const Expression& expression : statement.expressions) {
          TRY(Meaning meaning, evaluate(expression, scope));
          scope.results.push_back(std::move(meaning));
        }
        scope.returned = true;
        return {};
    }
    return {};
  }

  Result<void> repeat(const Statement& statement, Scope& scope) {
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

  Result<TensorType> declared_type(const Statement& statement, Scope& scope, bool symbols) {
    TensorType type;
    const auto element = parse_element(statement.element);
    if (!element) {
      return error(
          statement.place, "'", statement.element,
          "' is not an element type; there are f32, f64, f16, bf16, i64, i32, u8 and bool");
    }
    type.element = *element;
    type.sparse = statement.sparse;
    for (const Expression& expression : statement.shape) {
      const bool name = expression.kind == Expression::Kind::name;
      if (name && !scope.names.contains(expression.word)) {
        if (!symbols) {
          return error(expression.place, "'", expression.word,
                       "' is not a number here; only inputs and targets may have open dimensions");
        }
        if (std::find(graph_.symbols.begin(), graph_.symbols.end(), expression.word) ==
            graph_.symbols.end()) {
          graph_.symbols.push_back(expression.word);
        }
        type.shape.push_back({1, expression.word});
        continue;
      }
      TRY(const std::int64_t extent, whole_number(expression, scope));
      if (extent < 0 || extent > kMaxElements) {
        return error(expression.place, "a dimension of ", extent, " is not possible");
      }
      type.shape.push_back(dim(extent));
    }
    if (type.sparse && type.shape.size() != 2) {
      return error(statement.place, "a csr matrix has two dimensions");
    }
    if (elements(type.shape, {}) >= kMaxElements) {
      return error(statement.place, "the tensor has too many elements");
    }
    return type;
  }

  ValueId add_value(std::string name, TensorType type, Role role, Place place) {
    Value value;
    value.name = std::move(name);
    value.type = std::move(type);
    value.role = role;
    value.place = place;
    value.needs_gradient = role == Role::parameter;
    graph_.values.push_back(std::move(value));
    return graph_.values.size() - 1;
  }

  Result<void> declare_input(const Statement& statement, Scope& scope) {
    const std::string& name = statement.names[0];
    if (scope.names.contains(name))
      return error(statement.place, "there is already a '", name, "'");
    TRY(TensorType type, declared_type(statement, scope, true));
    const Role role = statement.kind == Statement::Kind::input ? Role::input : Role::target;
    names_.insert(name);
    const ValueId id = add_value(name, std::move(type), role, statement.place);
    graph_.inputs.push_back(id);
    scope.names[name] = Meaning{{id}, false, {}};
    return {};
  }

  Result<void> declare_output(const Statement& statement, Scope& scope) {
    const auto found = scope.names.find(statement.names[0]);
    if (found == scope.names.end() || found->second.tensors.size() != 1) {
      return error(statement.place, "'", statement.names[0], "' is not a tensor");
    }
    graph_.outputs.push_back(found->second.tensors[0]);
    return {};
  }

  Result<void> declare_parameter(const Statement& statement, Scope& scope) {
    const std::string& name = statement.names[0];
    TRY(const TensorType type, declared_type(statement, scope, false));
    std::string init = "init.zeros_({})";
    if (!statement.expressions.empty()) {
      TRY(const Meaning given, evaluate(statement.expressions[0], scope));
      const auto* whole = std::get_if<std::int64_t>(&given.attribute);
      const auto* real = std::get_if<double>(&given.attribute);
      const auto* word = std::get_if<std::string>(&given.attribute);
      if (word != nullptr && *word == "normal") {
        init = "init.normal_({}, std=0.02)";
      } else if (whole != nullptr || real != nullptr) {
        init = text("init.constant_({}, ", whole != nullptr ? static_cast<double>(*whole) : *real,
                    ")");
      } else {
        return error(statement.expressions[0].place,
                     "a parameter starts with a number or \"normal\"");
      }
    }
    TRY(const ValueId id,
        find_or_make_parameter({name, type, init, false}, scope, statement.place));
    scope.names[name] = Meaning{{id}, false, {}};
    return {};
  }

  Result<void> set_loss(const Statement& statement, Scope& scope) {
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
    loss_place_ = statement.place;
    return {};
  }

  Result<void> assign(const Statement& statement, Scope& scope) {
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

  // --- Expressions -------------------------------------------------------------------------------
  Result<std::int64_t> whole_number(const Expression& expression, Scope& scope) {
    TRY(const Meaning meaning, evaluate(expression, scope));
    const auto* number = std::get_if<std::int64_t>(&meaning.attribute);
    if (meaning.is_tensor() || number == nullptr) {
      return error(expression.place, "this is not a whole number");
    }
    return *number;
  }

  Result<Meaning> evaluate(const Expression& expression, Scope& scope) {
    using Kind = Expression::Kind;
    switch (expression.kind) {
      case Kind::integer: {
        std::int64_t number = 0;
        const char* end = expression.word.data() + expression.word.size();
        if (std::from_chars(expression.word.data(), end, number).ec != std::errc()) {
          return error(expression.place, expression.word, " does not fit in 64 bits");
        }
        return Meaning{{}, false, number};
      }
      case Kind::number: {
        double number = 0;
        const char* end = expression.word.data() + expression.word.size();
        if (std::from_chars(expression.word.data(), end, number).ec != std::errc()) {
          return error(expression.place, expression.word, " is beyond the numbers");
        }
        return Meaning{{}, false, number};
      }
      case Kind::string:
        return Meaning{{}, false, expression.word};
      case Kind::flag:
        return Meaning{{}, false, expression.word == "true"};
      case Kind::none:
        return Meaning{};
      case Kind::name: {
        const auto found = scope.names.find(expression.word);
        if (found != scope.names.end()) return found->second;
        std::vector<std::string_view> known;
        for (const auto& [name, meaning] : scope.names) known.push_back(name);
        return error(expression.place, "'", expression.word, "' is not defined before this line",
                     did_you_mean(expression.word, known));
      }
      case Kind::parameter: {
        TRY(const std::string path, fill_path(expression.word, expression.place, scope));
        TRY(const ValueId id, existing_parameter(path, expression.place, scope));
        return Meaning{{id}, false, {}};
      }
      case Kind::list:
        return evaluate_list(expression, scope);
      case Kind::negative:
      case Kind::negation:
        return evaluate_unary(expression, scope);
      case Kind::binary:
        return evaluate_binary(expression, scope);
      case Kind::call:
        return evaluate_call(expression, scope);
    }
    return error(expression.place, "this is not an expression");
  }

  Result<Meaning> evaluate_list(const Expression& expression, Scope& scope) {
    Meaning meaning;
    meaning.list = true;
    std::vector<std::int64_t> numbers;
    for (const Expression& child : expression.children) {
      TRY(const Meaning part, evaluate(child, scope));
      const auto* number = std::get_if<std::int64_t>(&part.attribute);
      if (part.is_tensor()) {
        meaning.tensors.insert(meaning.tensors.end(), part.tensors.begin(), part.tensors.end());
      } else if (number != nullptr) {
        numbers.push_back(*number);
      } else {
        return error(child.place, "a list holds whole numbers or tensors");
      }
    }
    if (!numbers.empty() && meaning.is_tensor()) {
      return error(expression.place, "a list holds either whole numbers or tensors");
    }
    meaning.attribute = std::move(numbers);
    return meaning;
  }

  Result<Meaning> evaluate_unary(const Expression& expression, Scope& scope) {
    TRY(Meaning meaning, evaluate(expression.children[0], scope));
    if (meaning.is_tensor()) {
      if (expression.kind == Expression::Kind::negative) {
        return apply("scale", {meaning.tensors[0]}, {{"factor", -1.0}}, expression.place, scope);
      }
      return error(expression.place, "'not' takes true or false, not a tensor");
    }
    auto result = calculate_unary(expression.kind == Expression::Kind::negation, meaning.attribute);
    if (!result.ok()) return error(expression.place, result.error().message);
    return Meaning{{}, false, std::move(result).value()};
  }

  Result<Meaning> evaluate_binary(const Expression& expression, Scope& scope) {
    TRY(const Meaning left, evaluate(expression.children[0], scope));
    TRY(const Meaning right, evaluate(expression.children[1], scope));
    if (!left.is_tensor() && !right.is_tensor()) {
      auto result = calculate(expression.word, left.attribute, right.attribute);
      if (!result.ok()) return error(expression.place, result.error().message);
      return Meaning{{}, false, std::move(result).value()};
    }
    if (left.tensors.size() > 1 || right.tensors.size() > 1) {
      return error(expression.place, "'", expression.word, "' takes single tensors");
    }
    static const std::map<std::string_view, const char*> kOfTensors = {
        {"+", "add"}, {"-", "sub"}, {"*", "mul"}, {"/", "div"}};
    const auto found = kOfTensors.find(expression.word);
    if (found == kOfTensors.end()) {
      return error(expression.place, "'", expression.word, "' is not for tensors");
    }
    if (left.is_tensor() && right.is_tensor()) {
      return apply(found->second, {left.tensors[0], right.tensors[0]}, {}, expression.place, scope);
    }
    const Attribute& number = left.is_tensor() ? right.attribute : left.attribute;
    const ValueId tensor = left.is_tensor() ? left.tensors[0] : right.tensors[0];
    if (expression.word == "*") {
      return apply("scale", {tensor}, {{"factor", number}}, expression.place, scope);
    }
    if (expression.word == "+") {
      return apply("shift", {tensor}, {{"offset", number}}, expression.place, scope);
    }
    if (left.is_tensor() && expression.word == "/") {
      return apply("scale", {tensor}, {{"factor", 1.0}, {"divisor", number}}, expression.place,
                   scope);
    }
    return error(expression.place, "a number and a tensor are joined by '*' or '+' only");
  }

  // --- Calls -------------------------------------------------------------------------------------
  /// Replaces {expressions} in a path by their whole numbers or words.
  Result<std::string> fill_path(const std::string& path, Place place, Scope& scope) {
    std::string filled;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (path[i] != '{') {
        filled += path[i];
        continue;
      }
      const std::size_t end = path.find('}', i);
      if (end == std::string::npos) return error(place, "the path has '{' without '}'");
      TRY(const Expression inner,
          parse_expression(source_, place, std::string_view(path).substr(i + 1, end - i - 1)));
      TRY(const Meaning meaning, evaluate(inner, scope));
      const auto* number = std::get_if<std::int64_t>(&meaning.attribute);
      const auto* word = std::get_if<std::string>(&meaning.attribute);
      if (meaning.is_tensor() || (number == nullptr && word == nullptr)) {
        return error(place, "{", path.substr(i + 1, end - i - 1), "} is not a whole number");
      }
      filled += number != nullptr ? text(*number) : *word;
      i = end;
    }
    return filled;
  }

  Result<Meaning> evaluate_call(const Expression& call, Scope& scope) {
    TRY(const std::string instance, fill_path(call.instance, call.place, scope));
    const std::string path = scope.path + instance;
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

  Result<Meaning> call_block(const Statement& block, const Expression& call,
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
        return error(call.children[i].place, "block '", name, "' has no parameter '", parameter,
                     "'");
      }
      if (!inner.names.emplace(parameter, std::move(meaning)).second) {
        return error(call.children[i].place, "'", parameter, "' is given twice");
      }
    }
    for (std::size_t i = 1; i < block.names.size(); ++i) {
      if (inner.names.contains(block.names[i])) continue;
      const Expression& fallback = block.defaults[i - 1];
      if (fallback.kind == Expression::Kind::none && fallback.place.line == 0) {
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

  Result<Meaning> call_operator(const Operator& op, const Expression& call, std::string path,
                                bool shared, Scope& scope) {
    CallArguments arguments;
    for (std::size_t i = 0; i < call.children.size(); ++i) {
      const Expression& child = call.children[i];
      if (child.kind == Expression::Kind::parameter && !call.keywords[i].empty()) {
        TRY(const std::string tied, fill_path(child.word, child.place, scope));
        TRY(const ValueId id, existing_parameter(tied, child.place, scope));
        arguments.tied.emplace_back(call.keywords[i], id);
        continue;
      }
      TRY(const Meaning meaning, evaluate(child, scope));
      if (meaning.is_tensor()) {
        if (!call.keywords[i].empty()) {
          return error(child.place, "tensors are given by position, not as '", call.keywords[i],
                       "'");
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

  /// An operator that stands for a sign between tensors.
  Result<Meaning> apply(const char* name, std::vector<ValueId> tensors,
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

  std::string unique_name(const std::string& wanted) {
    std::string name = wanted;
    while (!names_.insert(name).second) name = text(wanted, "_", ++numbers_[wanted] + 1);
    return name;
  }

  Result<Meaning> make_node(const Operator& op, const CallArguments& arguments,
                            Attributes attributes, std::string path, bool shared, Place place,
                            Scope& scope) {
    if (graph_.nodes.size() == kMostNodes) {
      return error(place, "the model has more than ", kMostNodes, " operations");
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
    }
    Meaning meaning;
    const std::size_t visible = inferred->outputs.size();
    for (std::size_t j = 0; j < visible; ++j) {
      const TensorType& type = inferred->outputs[j];
      const std::string name = visible == 1 ? node.name : unique_name(text(node.name, ".", j));
      const ValueId id = add_value(name, type, Role::activation, place);
      graph_.values[id].producer = node_id;
      graph_.values[id].output = j;
      graph_.values[id].needs_gradient = gradient && is_floating(type.element);
      node.outputs.push_back(id);
      meaning.tensors.push_back(id);
    }
    for (const TensorType& type : inferred->hidden) {
      const ValueId id = add_value(unique_name(text(node.name, ".", inferred->hidden_name)), type,
                                   Role::hidden, place);
      graph_.values[id].producer = node_id;
      graph_.values[id].output = node.outputs.size();
      node.outputs.push_back(id);
    }
    graph_.nodes.push_back(std::move(node));
    return meaning;
  }

  // --- Parameters --------------------------------------------------------------------------------
  Result<ValueId> existing_parameter(const std::string& path, Place place, const Scope& scope) {
    for (const std::string& full : {scope.path + path, path}) {
      const auto found = parameters_.find(full);
      if (found != parameters_.end()) return found->second;
    }
    std::vector<std::string_view> known;
    for (const auto& [name, id] : parameters_) known.push_back(name);
    return error(place, "there is no parameter '", path, "' before this line",
                 did_you_mean(path, known));
  }

  Result<ValueId> parameter_of(const ParameterSpec& spec, const CallArguments& arguments,
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

  Result<ValueId> find_or_make_parameter(const ParameterSpec& spec, const Scope& owner,
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
    const ValueId id =
        add_value(name, spec.type, spec.buffer ? Role::buffer : Role::parameter, place);
    graph_.values[id].init = spec.init;
    (spec.buffer ? graph_.buffers : graph_.parameters).push_back(id);
    parameters_.emplace(name, id);
    return id;
  }

  // --- The whole ---------------------------------------------------------------------------------
  Result<void> finish() {
    if (graph_.loss == kNone) {
      return error({},
                   "the model has no loss; the last line is loss cross_entropy(h, y), or alike");
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

  const SourceText& source_;
  Graph graph_;
  std::map<std::string, const Statement*> blocks_;
  std::map<std::string, ValueId> parameters_;
  std::set<std::string> instances_;
  std::set<std::string> names_;
  std::map<std::string, std::size_t> numbers_;
  std::size_t steps_ = 0;
  Place loss_place_;
};

}  // namespace

Result<Graph> elaborate(const SourceText& source) {
  return Elaborator(source).run();
}

Result<Graph> read_model(const std::string& path) {
  TRY(const auto file, files::open_bytes(path));
  const std::uint64_t size = file->size();
  if (size > SourceText::kMaxBytes) {
    return too_large(path, " has ", size, " bytes; a model's text has at most ",
                     SourceText::kMaxBytes);
  }
  std::string content(size, '\0');
  RETURN_IF_ERROR(file->read_at(0, std::as_writable_bytes(std::span(content))));
  return elaborate(SourceText(path, std::move(content)));
}

}  // namespace tensorpress::model
