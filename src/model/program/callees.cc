#include "model/program/callees.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/emit/python/functions.h"
#include "model/program/walk.h"

namespace tensorpress::model {
namespace {

/// Methods whose result is in the memory of their tensor. contiguous, flatten and reshape are
/// counted so though they copy what has gaps.
constexpr std::array<std::string_view, 14> kViews = {
    "chunk",  "contiguous", "expand", "flatten",   "narrow",    "permute",   "reshape",
    "select", "squeeze",    "t",      "transpose", "unflatten", "unsqueeze", "view"};

/// Methods that ask and compute nothing.
constexpr std::array<std::string_view, 2> kQueries = {"numel", "size"};

/// Keywords of PyTorch for where the result goes.
constexpr std::array<std::string_view, 2> kTargets = {"grad_input", "out"};

bool contains(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Expression* argument(const Call& call, const PythonFunction& function,
                           std::string_view name) {
  for (const Operand& each : call.operands) {
    if (each.keyword == name) return &each.value;
  }
  for (std::size_t i = 0; i < std::min(call.operands.size(), function.arguments.size()); ++i) {
    if (function.arguments[i].starts_with('*')) break;  // takes all others
    if (function.arguments[i] == name && call.operands[i].keyword.empty()) {
      return &call.operands[i].value;
    }
  }
  return nullptr;
}

Sharing sharing_of_function(const Call& call) {
  const PythonFunction* const function = find_function(call.callee.name, true);
  if (function == nullptr || function->in_place.empty()) return {};
  const std::string_view condition = function->in_place_if;
  if (!condition.empty() && argument(call, *function, condition) == nullptr) return {};
  const Expression* const target = argument(call, *function, function->in_place);
  return target == nullptr ? Sharing{} : sharing_of(*target);
}

/// PyTorch's functions that work in place have an underscore behind their names.
bool works_in_place(const Callee& callee) {
  return callee.space != Callee::Space::file && callee.name.ends_with('_');
}

Sharing sharing_of_call(const Call& call) {
  if (call.callee.space == Callee::Space::file) return sharing_of_function(call);
  for (const Operand& each : call.operands) {
    if (contains(kTargets, each.keyword)) return sharing_of(each.value);
  }
  const bool in_place = works_in_place(call.callee);
  if (call.receiver.empty()) return in_place ? sharing_of(call.operands[0].value) : Sharing{};
  if (!in_place && !contains(kViews, call.callee.name)) return {};
  Sharing sharing = sharing_of(call.receiver[0]);
  sharing.all_results = true;
  sharing.repeated = sharing.repeated || call.callee.name == "expand";
  return sharing;
}

std::string operator_name(const Call& call) {
  const std::string& name = call.callee.name;
  if (call.callee.space == Callee::Space::sparse) return text("sparse_", name);
  if (name != "interpolate") return name;
  const auto smooth =
      std::any_of(call.operands.begin(), call.operands.end(), [](const Operand& each) {
        const auto* words = std::get_if<Quoted>(&each.value.node().kind);
        return each.keyword == "mode" && words != nullptr && words->words == "bilinear";
      });
  return smooth ? "upsample_bilinear2d" : "upsample_nearest2d";
}

std::string_view operator_name(Infix infix) {
  switch (infix) {
    case Infix::add:
      return "add";
    case Infix::sub:
      return "sub";
    case Infix::mul:
      return "mul";
    case Infix::div:
      return "div";
    case Infix::gt:
      return "gt";
    case Infix::lt:
      return "lt";
    default:
      return "";  // devices state no operator for these
  }
}

}  // namespace

Sharing sharing_of(const Expression& expression) {
  if (const Name* name = expression.name()) return {name};
  const auto& kind = expression.node().kind;
  if (std::holds_alternative<Parameter>(kind) || std::holds_alternative<Buffer>(kind)) {
    return {.outside = true};
  }
  if (const auto* call = std::get_if<Call>(&kind)) return sharing_of_call(*call);
  if (const auto* index = std::get_if<Index>(&kind)) return sharing_of(index->of);
  return {};
}

std::vector<std::string> operators_of(const Expression& expression) {
  std::vector<std::string> found;
  walk(expression, [&](const ExpressionNode& part, bool bracketed) {
    if (const auto* call = std::get_if<Call>(&part.kind)) {
      const bool runs =
          call->callee.space != Callee::Space::file && !contains(kQueries, call->callee.name);
      if (runs) found.push_back(operator_name(*call));
    } else if (const auto* operation = std::get_if<Operation>(&part.kind)) {
      const std::string_view name = operator_name(operation->infix);
      if (!bracketed && !name.empty()) found.emplace_back(name);
    }
  });
  return found;
}

}  // namespace tensorpress::model
