// Expressions of a lowered step: a small immutable tree. Operators build it by typed calls, and the
// rest of the compiler reads facts from it (which variables it reads, which functions it calls);
// print.h makes Python of it at the very end.
//
//   aten("gelu_backward", s.grad(), s.in(), keyword("approximate", "tanh"))
//   s.grad() / (2 * s.out())                       // with the parentheses that Python needs
//   s.grad().call("view", -1, 64).call("sum", 0)   // methods
//   function("pack_bits", s.in(), 4)               // of emit/python, defined in the emitted file
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/graph/types.h"

namespace tensorpress::model {

/// A variable of the pass that runs.
struct Local {
  std::string name;
  friend auto operator<=>(const Local&, const Local&) = default;
};
/// S["key"]: what is kept between the passes. Activations have their own names as keys. Colons,
/// which no path has, keep others apart from them: NODE:suffix is what a node keeps besides, and
/// :seed, :bits and :N are the step's.
struct Stored {
  std::string key;
  friend auto operator<=>(const Stored&, const Stored&) = default;
};
/// What lines define, read and delete.
using Name = std::variant<Local, Stored>;

Stored stored_part(const std::string& name, std::string_view suffix);
Stored stored_of_step(std::string_view name);

/// A function that lines call; callees.h says what its results share with its arguments.
struct Callee {
  enum class Space : std::uint8_t {
    torch,       // torch.relu
    sparse,      // torch.sparse.mm
    functional,  // F.conv2d
    aten,        // aten.gelu_backward
    method,      // x.view
    file,        // of emit/python: pack_bits
  };
  Space space;
  std::string name;
};

enum class Infix : std::uint8_t { add, sub, mul, div, gt, lt, ge, le, eq, ne };

class Expression;
struct Operand;
using Operands = std::vector<Operand>;
struct ExpressionNode;

class Expression {
 public:
  Expression(const Name& name);  // NOLINT(google-explicit-constructor): as all of these
  Expression(const Local& local) : Expression(Name(local)) {}
  Expression(const Stored& stored) : Expression(Name(stored)) {}
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  Expression(Number number) : Expression(integer(static_cast<std::int64_t>(number))) {}
  Expression(double number);
  Expression(bool truth);
  /// Text between quotation marks.
  Expression(const char* words) : Expression(std::string(words)) {}
  Expression(const std::string& words);
  Expression(const Dim& dim);
  /// A tuple.
  Expression(const Shape& shape);
  /// A list.
  Expression(const std::vector<std::int64_t>& numbers);
  /// torch.float32
  Expression(Element element);
  /// The function itself, for one that calls it.
  Expression(Callee callee);
  explicit Expression(ExpressionNode node);

  /// x.name(...)
  template <class... Parts>
  Expression call(std::string_view method, Parts&&... parts) const;
  /// x.name(N, 64, 8, 8): the extents are the arguments.
  Expression shaped(std::string_view method, const Shape& shape) const;
  /// x.name
  Expression member(std::string_view name) const;
  Expression operator[](std::vector<Expression> places) const;
  Expression operator-() const;

  /// The variable that it is, or nullptr.
  const Name* name() const;
  /// A whole number that stands in the code.
  bool is_integer() const;
  const ExpressionNode& node() const { return *node_; }

 private:
  static Expression integer(std::int64_t number);
  Expression method(std::string_view name, Operands operands) const;
  std::shared_ptr<const ExpressionNode> node_;
};

/// Of a call; `keyword` is empty for those by position.
struct Operand {
  std::string_view keyword;
  Expression value;

  template <class Value>
    requires std::convertible_to<Value, Expression>
  Operand(Value&& given) : value(std::forward<Value>(given)) {}  // NOLINT
  Operand(std::string_view name, Expression given) : keyword(name), value(std::move(given)) {}
};

/// `name`: a literal, which lives as long as the program.
inline Operand keyword(std::string_view name, Expression value) {
  return {name, std::move(value)};
}

// --- Kinds of expressions ------------------------------------------------------------------------

struct Parameter {  // P["name"]
  std::string name;
};
struct Buffer {  // B["name"]; B.get("name") where the caller may have none
  std::string name;
  bool optional;
};
struct Symbol {  // an open dimension
  std::string name;
};
/// Words of Python and of the two passes: None, True, gradient, seed, bits, device, B, math.inf.
struct Word {
  std::string_view text;
};
struct Number {
  std::variant<std::int64_t, double> value;
  bool point = false;  // 2.0 instead of 2
};
struct Quoted {
  std::string words;
};
struct Sequence {
  bool list;  // otherwise a tuple
  std::vector<Expression> items;
};
struct Call {
  Callee callee;
  std::vector<Expression> receiver;  // of a method: one
  Operands operands;
  bool shaped = false;  // the arguments are a shape: one extent has a comma behind it
};
struct Member {
  Expression of;
  std::string_view name;
};
struct Index {
  Expression of;
  std::vector<Expression> places;
};
/// first:last:step in an index; none where there is nothing.
struct Range {
  std::vector<Expression> first, last, step;  // one or none
};
struct Negative {
  Expression of;
};
struct Operation {
  Infix infix;
  Expression left, right;
};
/// Parentheses that Python does not need.
struct Group {
  Expression of;
};
/// lambda argument: body; the argument is a Bound in the body.
struct Lambda {
  std::string_view argument;
  Expression body;
};
struct Bound {
  std::string_view name;
};
/// *items
struct Spread {
  Expression of;
};

struct ExpressionNode {
  std::variant<Name, Parameter, Buffer, Symbol, Word, Number, Quoted, Element, Callee, Sequence,
               Call, Member, Index, Range, Negative, Operation, Group, Lambda, Bound, Spread>
      kind;
};

// --- Making them ---------------------------------------------------------------------------------

Expression operator+(Expression a, Expression b);
Expression operator-(Expression a, Expression b);
Expression operator*(Expression a, Expression b);
Expression operator/(Expression a, Expression b);
Expression operation(Infix infix, Expression a, Expression b);

Expression none();
Expression word(std::string_view text);
/// 2.0 for 2; a finite number.
Expression decimal(double number);
/// math.inf where it is infinite.
Expression limit(double number);
Expression list_of(std::vector<Expression> items);
Expression tuple_of(std::vector<Expression> items);
Expression grouped(Expression of);
Expression spread(Expression of);
Expression bound(std::string_view name);
Expression lambda(std::string_view argument, Expression body);
/// `:` alone, first:last, first:last:step
Expression whole_range();
Expression range(Expression first, Expression last);
Expression range(Expression first, Expression last, Expression step);
Expression range_to(Expression last);
Expression call_of(Callee callee, Operands operands);

namespace expression_parts {
inline void append(Operands& all, Operands more) {
  for (Operand& each : more) all.push_back(std::move(each));
}
inline void append(Operands& all, Operand one) {
  all.push_back(std::move(one));
}
}  // namespace expression_parts

/// Expressions, keywords, and lists of both, one after the other.
template <class... Parts>
Operands operands(Parts&&... parts) {
  Operands all;
  (expression_parts::append(all, std::forward<Parts>(parts)), ...);
  return all;
}

template <class... Parts>
Expression torch(std::string_view name, Parts&&... parts) {
  return call_of({Callee::Space::torch, std::string(name)},
                 operands(std::forward<Parts>(parts)...));
}
template <class... Parts>
Expression functional(std::string_view name, Parts&&... parts) {
  return call_of({Callee::Space::functional, std::string(name)},
                 operands(std::forward<Parts>(parts)...));
}
template <class... Parts>
Expression aten(std::string_view name, Parts&&... parts) {
  return call_of({Callee::Space::aten, std::string(name)}, operands(std::forward<Parts>(parts)...));
}
template <class... Parts>
Expression function(std::string_view name, Parts&&... parts) {
  return call_of({Callee::Space::file, std::string(name)}, operands(std::forward<Parts>(parts)...));
}
template <class... Parts>
Expression Expression::call(std::string_view name, Parts&&... parts) const {
  return method(name, operands(std::forward<Parts>(parts)...));
}

}  // namespace tensorpress::model
