// Expressions and types, which share one grammar: a type is a value. From weak to strong:
// or, and, comparisons, & ^ |, shifts, + -, * / %, prefixes, suffixes.
#include "csl/syntax/parsing.h"

namespace tensorpress::csl {
namespace {

struct Infix {
  std::string_view text;
  Operator op;
  int strength;
};

constexpr Infix kInfix[] = {{"==", Operator::equal, 3},       {"!=", Operator::not_equal, 3},
                            {"<=", Operator::less_equal, 3},  {">=", Operator::greater_equal, 3},
                            {"<", Operator::less, 3},         {">", Operator::greater, 3},
                            {"&", Operator::bit_and, 4},      {"^", Operator::bit_xor, 4},
                            {"|", Operator::bit_or, 4},       {"<<", Operator::shift_left, 5},
                            {">>", Operator::shift_right, 5}, {"+", Operator::add, 6},
                            {"-", Operator::subtract, 6},     {"*", Operator::multiply, 7},
                            {"/", Operator::divide, 7},       {"%", Operator::remainder, 7}};

const Infix* infix_of(const Token& token) {
  static constexpr Infix kOr{"or", Operator::logical_or, 1};
  static constexpr Infix kAnd{"and", Operator::logical_and, 2};
  if (token.kind == TokenKind::identifier) {
    return token.text == "or" ? &kOr : token.text == "and" ? &kAnd : nullptr;
  }
  if (token.kind != TokenKind::symbol) return nullptr;
  for (const Infix& infix : kInfix) {
    if (infix.text == token.text) return &infix;
  }
  return nullptr;
}

}  // namespace

const Expr* Parser::expression(bool braces) {
  Level level(*this);
  return binary(1, braces);
}

const Expr* Parser::binary(int weakest, bool braces) {
  const Expr* left = prefixed(braces);
  for (int length = 0; !failed(); ++length) {
    if (length > kLongest) fail("this expression has too many parts", "Name parts of it.");
    const Infix* infix = infix_of(token());
    if (infix == nullptr || infix->strength < weakest) return left;
    Expr& made = make(ExprKind::binary, token().at);
    ++at_;
    made.op = infix->op;
    made.a = left;
    made.b = binary(infix->strength + 1, braces);
    left = &made;
  }
  return left;
}

const Expr* Parser::prefixed(bool braces) {
  Level level(*this);
  const Position at = token().at;
  if (failed()) return &make(ExprKind::integer, at);
  if (is("-") || is("~") || is("!")) {
    Expr& made = make(ExprKind::unary, at);
    made.op = is("-") ? Operator::negate : is("~") ? Operator::bit_not : Operator::logical_not;
    ++at_;
    made.a = prefixed(braces);
    return &made;
  }
  if (take_word("comptime")) {
    Expr& made = make(ExprKind::forced, at);
    made.a = prefixed(braces);
    return &made;
  }
  if (take("&")) {
    Expr& made = make(ExprKind::address, at);
    made.a = prefixed(braces);
    return &made;
  }
  if (take("*")) {
    Expr& made = make(ExprKind::pointer_type, at);
    made.constant = take_word("const");
    made.a = prefixed(false);
    return &made;
  }
  if (is("[")) {
    const Expr* type = bracketed_type();
    if (!braces || !is("{")) return type;
    Expr& made = make(ExprKind::typed, at);
    made.a = type;
    initializer(made);
    return &made;
  }
  return suffixed(braces);
}

const Expr* Parser::bracketed_type() {
  const Position at = token().at;
  ++at_;
  if (is("*") && is_next("]")) {
    at_ += 2;
    Expr& made = make(ExprKind::pointer_type, at);
    made.many = true;
    made.constant = take_word("const");
    made.a = prefixed(false);
    return &made;
  }
  Expr& made = make(ExprKind::array_type, at);
  list(made, "]");
  made.a = prefixed(false);
  return &made;
}

void Parser::list(Expr& expr, std::string_view end) {
  while (!failed() && !is(end)) {
    expr.items.push_back(expression());
    if (!take(",")) break;
  }
  expect(end, "behind the list");
}

void Parser::initializer(Expr& expr) {
  expect("{", "in front of the values");
  const bool named = is(".") && token(1).kind == TokenKind::identifier &&
                     token(2).kind == TokenKind::symbol && token(2).text == "=";
  while (!failed() && !is("}")) {
    if (named) {
      expect(".", "in front of a field");
      expr.names.push_back(expect_name("a field"));
      expect("=", "behind the name of a field");
    }
    expr.items.push_back(expression());
    if (!take(",")) break;
  }
  expect("}", "behind the values");
}

const Expr* Parser::suffixed(bool braces) {
  const Expr* left = primary();
  for (int length = 0; !failed(); ++length) {
    const Position at = token().at;
    if (length > kLongest) fail("this expression has too many parts", "Name parts of it.");
    if (take("(")) {
      Expr& made = make(ExprKind::call, at);
      made.a = left;
      list(made, ")");
      left = &made;
    } else if (take("[")) {
      Expr& made = make(ExprKind::index, at);
      made.a = left;
      list(made, "]");
      left = &made;
    } else if (take(".*")) {
      Expr& made = make(ExprKind::dereference, at);
      made.a = left;
      left = &made;
    } else if (take(".")) {
      Expr& made = make(ExprKind::field, token().at);
      made.a = left;
      made.name = expect_name("a field");
      left = &made;
    } else if (braces && is("{") &&
               (left->kind == ExprKind::name || left->kind == ExprKind::field ||
                left->kind == ExprKind::call)) {
      Expr& made = make(ExprKind::typed, left->at);
      made.a = left;
      initializer(made);
      left = &made;
    } else {
      break;
    }
  }
  return left;
}

const Expr* Parser::primary() {
  const Token& first = token();
  const Position at = first.at;
  switch (first.kind) {
    case TokenKind::integer: {
      Expr& made = make(ExprKind::integer, at);
      made.integer = first.integer;
      ++at_;
      return &made;
    }
    case TokenKind::real: {
      Expr& made = make(ExprKind::real, at);
      made.real = first.real;
      ++at_;
      return &made;
    }
    case TokenKind::string: {
      Expr& made = make(ExprKind::string, at);
      made.words = first.words;
      ++at_;
      return &made;
    }
    case TokenKind::builtin: {
      Expr& made = make(ExprKind::builtin, at);
      made.name = first.text;
      ++at_;
      expect("(", "behind the name of a builtin");
      list(made, ")");
      return &made;
    }
    case TokenKind::identifier: {
      if (first.text == "if") return choice_value();
      if ((first.text == "fn" || first.text == "task") && is_next("(")) return function_type();
      if ((first.text == "struct" || first.text == "packed") && !is_next(".")) {
        take_word("packed");
        take_word("struct");
        return members(ExprKind::struct_type);
      }
      if (first.text == "extern" && token(1).kind == TokenKind::identifier) {
        at_ += 2;
        return members(ExprKind::struct_type);
      }
      if (first.text == "union" && is_next("{")) {
        ++at_;
        return members(ExprKind::union_type);
      }
      if (first.text == "enum" && (is_next("(") || is_next("{"))) {
        ++at_;
        return members(ExprKind::enum_type);
      }
      if (first.text == "switch") {
        fail("switch as a value is not supported yet", "Assign inside the cases of a switch.");
        return &make(ExprKind::integer, at);
      }
      Expr& made = make(ExprKind::name, at);
      made.name = first.text;
      ++at_;
      return &made;
    }
    default:
      break;
  }
  if (take("(")) {
    const Expr* inner = expression();
    expect(")", "behind this expression");
    return inner;
  }
  if (is("|")) return tensor_access();
  if (is(".") && is_next("{")) {
    Expr& made = make(ExprKind::anonymous, at);
    ++at_;
    initializer(made);
    return &made;
  }
  if (is(".") && token(1).kind == TokenKind::identifier) {
    Expr& made = make(ExprKind::enum_value, at);
    made.name = token(1).text;
    at_ += 2;
    return &made;
  }
  if (is("{") && is_next("}")) {
    at_ += 2;
    return &make(ExprKind::block, at);
  }
  fail("a value is missing here, found " + shown(token()));
  return &make(ExprKind::integer, at);
}

const Expr* Parser::choice_value() {
  Expr& made = make(ExprKind::choice, token().at);
  ++at_;
  expect("(", "in front of the condition");
  made.a = expression();
  expect(")", "behind the condition");
  made.b = expression();
  if (take_word("else")) made.c = expression();  // without: void where the condition is false
  return &made;
}

const Expr* Parser::function_type() {
  Expr& made = make(ExprKind::function_type, token().at);
  made.many = is_word("task");
  at_ += 2;
  while (!failed() && !is(")")) {
    if (token().kind == TokenKind::identifier && is_next(":")) at_ += 2;
    made.items.push_back(type());
    if (!take(",")) break;
  }
  expect(")", "behind the types of the parameters");
  made.a = type();
  return &made;
}

const Expr* Parser::members(ExprKind kind) {
  Expr& made = make(kind, token().at);
  if (kind == ExprKind::enum_type && take("(")) {
    made.a = type();
    expect(")", "behind the type of the enum");
  }
  expect("{", "in front of the fields");
  while (!failed() && !is("}")) {
    made.names.push_back(expect_name("a field"));
    if (kind == ExprKind::enum_type) {
      made.items.push_back(take("=") ? expression() : nullptr);
    } else {
      expect(":", "between a field and its type");
      made.items.push_back(type());
    }
    if (!take(",")) break;
  }
  expect("}", "behind the fields");
  return &made;
}

const Expr* Parser::tensor_access() {
  Expr& made = make(ExprKind::tensor_access, token().at);
  expect("|", "in front of the induction variables");
  do {
    made.names.push_back(expect_name("an induction variable"));
  } while (!failed() && take(","));
  expect("|", "behind the induction variables");
  expect("{", "in front of the lengths");
  list(made, "}");
  expect("->", "between the lengths and the accessed tensor");
  const Expr* accessed = suffixed(false);
  if (!failed() && accessed->kind != ExprKind::index) {
    fail("a tensor access ends with an indexed tensor", "It looks like |i|{10} -> array[2*i].");
  }
  made.b = accessed;
  made.a = accessed->a;
  return &made;
}

}  // namespace tensorpress::csl
