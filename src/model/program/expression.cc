#include "model/program/expression.h"

#include <cmath>

#include "base/text.h"

namespace tensorpress::model {

Stored stored_part(const std::string& name, std::string_view suffix) {
  return {text(name, ":", suffix)};
}

Stored stored_of_step(std::string_view name) {
  return {text(":", name)};
}

Expression::Expression(ExpressionNode node)
    : node_(std::make_shared<const ExpressionNode>(std::move(node))) {}

Expression::Expression(const Name& name) : Expression(ExpressionNode{name}) {}
Expression::Expression(double number) : Expression(ExpressionNode{Number{number}}) {}
Expression::Expression(bool truth) : Expression(ExpressionNode{Word{truth ? "True" : "False"}}) {}
Expression::Expression(const std::string& words) : Expression(ExpressionNode{Quoted{words}}) {}
Expression::Expression(Element element) : Expression(ExpressionNode{element}) {}
Expression::Expression(Callee callee) : Expression(ExpressionNode{std::move(callee)}) {}

Expression::Expression(const Dim& dim)
    : Expression(dim.known()       ? Expression(dim.factor)
                 : dim.factor == 1 ? Expression(ExpressionNode{Symbol{dim.symbol}})
                                   : dim.factor * Expression(ExpressionNode{Symbol{dim.symbol}})) {}

Expression::Expression(const Shape& shape)
    : Expression(ExpressionNode{Sequence{false, {shape.begin(), shape.end()}}}) {}

Expression::Expression(const std::vector<std::int64_t>& numbers)
    : Expression(ExpressionNode{Sequence{true, {numbers.begin(), numbers.end()}}}) {}

Expression Expression::integer(std::int64_t number) {
  return Expression(ExpressionNode{Number{number}});
}

Expression Expression::method(std::string_view name, Operands operands) const {
  return Expression(ExpressionNode{
      Call{{Callee::Space::method, std::string(name)}, {*this}, std::move(operands)}});
}

Expression Expression::shaped(std::string_view name, const Shape& shape) const {
  return Expression(ExpressionNode{Call{{Callee::Space::method, std::string(name)},
                                        {*this},
                                        Operands(shape.begin(), shape.end()),
                                        true}});
}

Expression Expression::member(std::string_view name) const {
  return Expression(ExpressionNode{Member{*this, name}});
}

Expression Expression::operator[](std::vector<Expression> places) const {
  return Expression(ExpressionNode{Index{*this, std::move(places)}});
}

Expression Expression::operator-() const {
  return Expression(ExpressionNode{Negative{*this}});
}

const Name* Expression::name() const {
  return std::get_if<Name>(&node_->kind);
}

bool Expression::is_integer() const {
  const auto* number = std::get_if<Number>(&node_->kind);
  return number != nullptr && std::holds_alternative<std::int64_t>(number->value);
}

Expression operation(Infix infix, Expression a, Expression b) {
  return Expression(ExpressionNode{Operation{infix, std::move(a), std::move(b)}});
}

Expression operator+(Expression a, Expression b) {
  return operation(Infix::add, std::move(a), std::move(b));
}

Expression operator-(Expression a, Expression b) {
  return operation(Infix::sub, std::move(a), std::move(b));
}

Expression operator*(Expression a, Expression b) {
  return operation(Infix::mul, std::move(a), std::move(b));
}

Expression operator/(Expression a, Expression b) {
  return operation(Infix::div, std::move(a), std::move(b));
}

Expression none() {
  return word("None");
}

Expression word(std::string_view text) {
  return Expression(ExpressionNode{Word{text}});
}

Expression decimal(double number) {
  return Expression(ExpressionNode{Number{number, true}});
}

Expression limit(double number) {
  if (std::isfinite(number)) return number;
  return number > 0 ? word("math.inf") : -word("math.inf");
}

Expression list_of(std::vector<Expression> items) {
  return Expression(ExpressionNode{Sequence{true, std::move(items)}});
}

Expression tuple_of(std::vector<Expression> items) {
  return Expression(ExpressionNode{Sequence{false, std::move(items)}});
}

Expression grouped(Expression of) {
  return Expression(ExpressionNode{Group{std::move(of)}});
}

Expression spread(Expression of) {
  return Expression(ExpressionNode{Spread{std::move(of)}});
}

Expression bound(std::string_view name) {
  return Expression(ExpressionNode{Bound{name}});
}

Expression lambda(std::string_view argument, Expression body) {
  return Expression(ExpressionNode{Lambda{argument, std::move(body)}});
}

Expression whole_range() {
  return Expression(ExpressionNode{Range{}});
}

Expression range(Expression first, Expression last) {
  return Expression(ExpressionNode{Range{{std::move(first)}, {std::move(last)}, {}}});
}

Expression range(Expression first, Expression last, Expression step) {
  return Expression(
      ExpressionNode{Range{{std::move(first)}, {std::move(last)}, {std::move(step)}}});
}

Expression range_to(Expression last) {
  return Expression(ExpressionNode{Range{{}, {std::move(last)}, {}}});
}

Expression call_of(Callee callee, Operands operands) {
  return Expression(ExpressionNode{Call{std::move(callee), {}, std::move(operands)}});
}

}  // namespace tensorpress::model
