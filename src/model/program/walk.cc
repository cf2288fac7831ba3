#include "model/program/walk.h"

namespace tensorpress::model {
namespace {

Binding binding_of(Infix infix) {
  switch (infix) {
    case Infix::add:
    case Infix::sub:
      return Binding::sum;
    case Infix::mul:
    case Infix::div:
      return Binding::product;
    default:
      return Binding::comparison;
  }
}

class Walk {
 public:
  explicit Walk(const Visit& visit) : visit_(visit) {}

  void part(const Expression& expression, bool bracketed) {
    const ExpressionNode& node = expression.node();
    std::visit([&](const auto& kind) { kind_of(kind, node, bracketed); }, node.kind);
  }

 private:
  void operand(const Expression& expression, Binding needed, bool bracketed) {
    part(expression, bracketed || binding_of(expression) < needed);
  }
  void all(const std::vector<Expression>& parts) {
    for (const Expression& each : parts) part(each, true);
  }

  void kind_of(const Call& call, const ExpressionNode& node, bool bracketed) {
    for (const Expression& each : call.receiver) operand(each, Binding::part, bracketed);
    visit_(node, bracketed);
    for (const Operand& each : call.operands) part(each.value, true);
  }
  void kind_of(const Operation& operation, const ExpressionNode& node, bool bracketed) {
    operand(operation.left, left_of(operation.infix), bracketed);
    visit_(node, bracketed);
    operand(operation.right, right_of(operation.infix), bracketed);
  }
  void kind_of(const Sequence& sequence, const ExpressionNode& node, bool bracketed) {
    visit_(node, bracketed);
    all(sequence.items);
  }
  void kind_of(const Index& index, const ExpressionNode& node, bool bracketed) {
    operand(index.of, Binding::part, bracketed);
    visit_(node, bracketed);
    all(index.places);
  }
  void kind_of(const Range& range, const ExpressionNode& node, bool bracketed) {
    visit_(node, bracketed);
    for (const auto* each : {&range.first, &range.last, &range.step}) all(*each);
  }
  void kind_of(const Member& member, const ExpressionNode& node, bool bracketed) {
    operand(member.of, Binding::part, bracketed);
    visit_(node, bracketed);
  }
  void kind_of(const Negative& negative, const ExpressionNode& node, bool bracketed) {
    visit_(node, bracketed);
    operand(negative.of, Binding::sign, bracketed);
  }
  void kind_of(const Group& group, const ExpressionNode& node, bool bracketed) {
    visit_(node, bracketed);
    part(group.of, true);
  }
  void kind_of(const Lambda& lambda, const ExpressionNode& node, bool bracketed) {
    visit_(node, bracketed);
    part(lambda.body, bracketed);
  }
  void kind_of(const Spread& spread, const ExpressionNode& node, bool bracketed) {
    visit_(node, bracketed);
    part(spread.of, bracketed);
  }
  void kind_of(const auto& /*single*/, const ExpressionNode& node, bool bracketed) {
    visit_(node, bracketed);
  }

  const Visit& visit_;
};

}  // namespace

Binding binding_of(const Expression& expression) {
  const auto& kind = expression.node().kind;
  if (const auto* operation = std::get_if<Operation>(&kind)) return binding_of(operation->infix);
  return std::holds_alternative<Negative>(kind) ? Binding::sign : Binding::part;
}

Binding left_of(Infix infix) {
  return binding_of(infix);
}

Binding right_of(Infix infix) {
  return static_cast<Binding>(static_cast<int>(binding_of(infix)) + 1);
}

void walk(const Expression& expression, const Visit& visit, bool bracketed) {
  Walk(visit).part(expression, bracketed);
}

std::vector<Name> names_read(const Expression& expression) {
  std::vector<Name> names;
  walk(expression, [&](const ExpressionNode& part, bool /*bracketed*/) {
    if (const auto* name = std::get_if<Name>(&part.kind)) names.push_back(*name);
  });
  return names;
}

}  // namespace tensorpress::model
