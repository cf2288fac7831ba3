// Expressions: numbers, words, tensors, and arithmetic on them.
#include <charconv>

#include "base/near_names.h"
#include "model/graph/operator.h"
#include "model/text/elaborator.h"

namespace tensorpress::model {

Result<std::int64_t> Elaborator::whole_number(const TextExpression& expression, Scope& scope) {
  TRY(const Meaning meaning, evaluate(expression, scope));
  const auto* number = std::get_if<std::int64_t>(&meaning.attribute);
  if (meaning.is_tensor() || number == nullptr) {
    return error(expression.place, "this is not a whole number");
  }
  return *number;
}

Result<Meaning> Elaborator::evaluate(const TextExpression& expression, Scope& scope) {
  if (evaluating_ == kDeepestEvaluation) {
    return error(expression.place, "expressions and blocks are nested deeper than ",
                 kDeepestEvaluation, "; give names to parts of them");
  }
  if (++steps_ > kMostSteps) {
    return error(expression.place, "the text makes more than ", kMostSteps, " steps");
  }
  ++evaluating_;
  auto meaning = evaluate_kind(expression, scope);
  --evaluating_;
  return meaning;
}

Result<Meaning> Elaborator::evaluate_kind(const TextExpression& expression, Scope& scope) {
  using Kind = TextExpression::Kind;
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

Result<Meaning> Elaborator::evaluate_list(const TextExpression& expression, Scope& scope) {
  Meaning meaning;
  meaning.list = true;
  std::vector<std::int64_t> whole;
  std::vector<double> numbers;  // all of them
  for (const TextExpression& child : expression.children) {
    TRY(const Meaning part, evaluate(child, scope));
    const auto* number = std::get_if<std::int64_t>(&part.attribute);
    const auto* real = std::get_if<double>(&part.attribute);
    if (part.is_tensor()) {
      meaning.tensors.insert(meaning.tensors.end(), part.tensors.begin(), part.tensors.end());
    } else if (number != nullptr) {
      whole.push_back(*number);
      numbers.push_back(static_cast<double>(*number));
    } else if (real != nullptr) {
      numbers.push_back(*real);
    } else {
      return error(child.place, "a list holds numbers or tensors");
    }
  }
  if (meaning.tensors.size() > kMostTensors || numbers.size() > kMostTensors) {
    return error(expression.place, "a list holds at most ", kMostTensors, " tensors or numbers");
  }
  if (!numbers.empty() && meaning.is_tensor()) {
    return error(expression.place, "a list holds either numbers or tensors");
  }
  if (whole.size() == numbers.size()) {
    meaning.attribute = std::move(whole);
  } else {
    meaning.attribute = std::move(numbers);
  }
  return meaning;
}

Result<Meaning> Elaborator::evaluate_unary(const TextExpression& expression, Scope& scope) {
  TRY(Meaning meaning, evaluate(expression.children[0], scope));
  if (meaning.is_tensor()) {
    if (expression.kind == TextExpression::Kind::negative) {
      return apply("scale", {meaning.tensors[0]}, {{"factor", -1.0}}, expression.place, scope);
    }
    return error(expression.place, "'not' takes true or false, not a tensor");
  }
  auto result =
      calculate_unary(expression.kind == TextExpression::Kind::negation, meaning.attribute);
  if (!result.ok()) return error(expression.place, result.error().message);
  return Meaning{{}, false, std::move(result).value()};
}

Result<Meaning> Elaborator::evaluate_binary(const TextExpression& expression, Scope& scope) {
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
  static const std::map<std::string_view, const char*> kOfTensors = {{"+", "add"},
                                                                     {"-", "sub"},
                                                                     {"*", "mul"},
                                                                     {"/", "div"},
                                                                     {">", "greater"},
                                                                     {"<", "less"},
                                                                     {">=", "greater_equal"},
                                                                     {"<=", "less_equal"},
                                                                     {"==", "equal"},
                                                                     {"!=", "not_equal"}};
  static const std::map<std::string_view, const char*> kTurned = {
      {">", "less"},           {"<", "greater"}, {">=", "less_equal"},
      {"<=", "greater_equal"}, {"==", "equal"},  {"!=", "not_equal"}};
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
  const auto turned = kTurned.find(expression.word);
  if (turned != kTurned.end()) {
    const char* const name = left.is_tensor() ? found->second : turned->second;
    return apply(name, {tensor}, {{"than", number}}, expression.place, scope);
  }
  return error(expression.place, "a number and a tensor are joined by '*' or '+' only");
}

}  // namespace tensorpress::model
