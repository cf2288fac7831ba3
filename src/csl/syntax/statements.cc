// Statements.
#include "csl/syntax/parsing.h"

namespace tensorpress::csl {

const Stmt* Parser::block() {
  Level level(*this);
  Stmt& made = make(StmtKind::block, token().at);
  expect("{", "in front of a block");
  while (!failed() && !is("}")) made.body.push_back(statement());
  expect("}", "behind a block");
  return &made;
}

const Stmt* Parser::statement() {
  Level level(*this);
  if (failed()) return &make(StmtKind::block, token().at);
  if (is("{")) {
    const Stmt* made = block();
    take(";");
    return made;
  }
  if (is_word("const") || is_word("var")) return variable();
  if (is_word("if")) return choice();
  if (is_word("while") || is_word("for") ||
      (is_word("inline") && token(1).kind == TokenKind::identifier))
    return loop();
  if (is_word("switch") && is_next("(")) return selection();
  if (is_word("return")) return simple_value(StmtKind::returning);
  if (is_word("break")) return simple_value(StmtKind::breaking);
  if (is_word("continue")) return simple_value(StmtKind::continuing);
  if (is_word("comptime") && is_next("{")) {
    Stmt& made = make(StmtKind::comptime, token().at);
    ++at_;
    made.first = block();
    take(";");
    return &made;
  }
  return assignment_or_expression(true);
}

const Stmt* Parser::simple_value(StmtKind kind) {
  Stmt& made = make(kind, token().at);
  ++at_;
  if (!is(";")) made.a = expression();
  expect(";", "behind this statement");
  return &made;
}

const Stmt* Parser::variable() {
  Stmt& made = make(StmtKind::variable, token().at);
  made.constant = is_word("const");
  ++at_;
  made.at = token().at;
  made.name = expect_name("a variable");
  if (take(":")) made.type = type();
  if (is_word("align") && is_next("(")) {
    at_ += 2;
    expression();  // locals lie where the machine puts them, aligned to four bytes
    expect(")", "behind the alignment");
  }
  if (take("=")) made.a = expression();
  expect(";", "behind this declaration");
  return &made;
}

const Stmt* Parser::choice() {
  Level level(*this);
  Stmt& made = make(StmtKind::choice, token().at);
  ++at_;
  expect("(", "in front of the condition");
  made.a = expression();
  expect(")", "behind the condition");
  made.first = statement();
  if (take_word("else")) made.second = statement();
  return &made;
}

const Stmt* Parser::loop() {
  const Position at = token().at;
  const bool forced = take_word("inline");
  const bool counting = is_word("for");
  Stmt& made = make(counting ? StmtKind::for_loop : StmtKind::while_loop, at);
  made.forced = forced;
  if (!counting && !is_word("while")) {
    fail("inline stands in front of for or while here");
    return &made;
  }
  ++at_;
  expect("(", "in front of what the loop runs over");
  made.a = expression();
  expect(")", "behind what the loop runs over");
  if (counting) {
    expect("|", "in front of the loop's variable");
    do {
      made.names.push_back(expect_name("a loop's variable"));
    } while (!failed() && take(","));
    expect("|", "behind the loop's variable");
    if (made.names.size() > 2) fail("a loop has a variable and an index, not more");
  } else if (take(":")) {
    expect("(", "in front of the step");
    made.second = assignment_or_expression(false);
    expect(")", "behind the step");
  }
  made.first = statement();
  return &made;
}

const Stmt* Parser::selection() {
  Level level(*this);
  Stmt& made = make(StmtKind::selection, token().at);
  at_ += 2;
  made.a = expression();
  expect(")", "behind the value of switch");
  expect("{", "in front of the cases");
  while (!failed() && !is("}")) {
    Case one{};
    if (!take_word("else")) {
      do {
        if (is("=>")) break;
        one.values.push_back(expression(false));
      } while (!failed() && take(","));
    }
    expect("=>", "behind the values of a case");
    if (is("{")) {
      one.body = block();
    } else if (is_word("return") || is_word("break") || is_word("continue")) {
      Stmt& leaving = make(is_word("return")  ? StmtKind::returning
                           : is_word("break") ? StmtKind::breaking
                                              : StmtKind::continuing,
                           token().at);
      ++at_;
      if (!is(",") && !is("}")) leaving.a = expression();
      one.body = &leaving;
    } else {
      one.body = assignment_or_expression(false);
    }
    made.cases.push_back(std::move(one));
    if (!take(",") && !take(";")) break;
  }
  expect("}", "behind the cases");
  take(";");
  return &made;
}

const Stmt* Parser::assignment_or_expression(bool semicolon) {
  static constexpr std::pair<std::string_view, Operator> kAssignments[] = {
      {"=", Operator::none},         {"+=", Operator::add},         {"-=", Operator::subtract},
      {"*=", Operator::multiply},    {"/=", Operator::divide},      {"%=", Operator::remainder},
      {"&=", Operator::bit_and},     {"|=", Operator::bit_or},      {"^=", Operator::bit_xor},
      {"<<=", Operator::shift_left}, {">>=", Operator::shift_right}};
  const Position at = token().at;
  const Expr* target = expression();
  Stmt* made = nullptr;
  for (const auto& [symbol, op] : kAssignments) {
    if (!is(symbol)) continue;
    made = &make(StmtKind::assign, token().at);
    ++at_;
    made->op = op;
    made->a = target;
    made->b = expression();
    break;
  }
  if (made == nullptr) {
    made = &make(StmtKind::expression, at);
    made->a = target;
  }
  // `if (c) a() else b();` has one semicolon.
  if (semicolon && !is_word("else")) expect(";", "behind this statement");
  return made;
}

}  // namespace tensorpress::csl
