// The list of operators. An operator is a file of this folder and a line here.
#include <algorithm>
#include <array>

#include "base/errors.h"
#include "model/operator.h"

namespace tensorpress::model {

const Operator &conv2d_operator(), &cross_entropy_operator(), &flatten_operator(),
    &linear_operator(), &relu_operator();

namespace {

using Access = const Operator& (*)();
constexpr std::array kOperators = std::to_array<Access>({
    conv2d_operator,
    cross_entropy_operator,
    flatten_operator,
    linear_operator,
    relu_operator,
});

}  // namespace

std::vector<Need> Operator::rebuild_needs(const NodeView& /*node*/, bool /*split*/) const {
  return {};
}

void Operator::rebuild(Site& /*site*/) const {}

double Operator::flops(const NodeView& node, const Sizes& sizes) const {
  return static_cast<double>(elements(node.output().type.shape, sizes));
}

const Operator* find_operator(std::string_view name) {
  for (const Access access : kOperators) {
    if (access().signature().name == name) return &access();
  }
  return nullptr;
}

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const Access access : kOperators) names.emplace_back(access().signature().name);
  return names;
}

}  // namespace tensorpress::model
