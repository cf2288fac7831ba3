// The parser's parts: declarations (parser.cc), statements and expressions share one state.
#pragma once

#include <string>
#include <utility>

#include "csl/syntax/tree.h"

namespace tensorpress::csl {

class Parser {
 public:
  Parser(File& file, std::vector<Token> tokens, Diagnostics& diagnostics)
      : file_(file), tokens_(std::move(tokens)), diagnostics_(diagnostics) {}

  bool run();  // declarations up to the end

 private:
  // Nested deeper than this is no program that a person wrote.
  static constexpr int kDeepest = 200;
  static constexpr int kLongest = 400;  // a + b + c ...: each makes the tree deeper

  // parser.cc
  void declaration();
  void value_declaration(Declaration declaration);
  void function_declaration(Declaration declaration);

  // statements.cc
  const Stmt* statement();
  const Stmt* block();
  const Stmt* variable();
  const Stmt* choice();
  const Stmt* loop();
  const Stmt* selection();
  const Stmt* assignment_or_expression(bool semicolon);
  const Stmt* simple_value(StmtKind kind);

  // expressions.cc
  const Expr* expression(bool braces = true);
  const Expr* type() { return prefixed(false); }
  const Expr* binary(int weakest, bool braces);
  const Expr* prefixed(bool braces);
  const Expr* suffixed(bool braces);
  const Expr* primary();
  const Expr* bracketed_type();
  const Expr* function_type();
  const Expr* members(ExprKind kind);
  const Expr* tensor_access();
  const Expr* choice_value();
  void initializer(Expr& expr);  // {items} or {.names = items}
  void list(Expr& expr, std::string_view end);

  // tokens
  const Token& token(std::size_t ahead = 0) const {
    const std::size_t at = at_ + ahead;
    return tokens_[at < tokens_.size() ? at : tokens_.size() - 1];
  }
  bool is(std::string_view symbol) const {
    return token().kind == TokenKind::symbol && token().text == symbol;
  }
  bool is_next(std::string_view symbol) const {
    return token(1).kind == TokenKind::symbol && token(1).text == symbol;
  }
  bool is_word(std::string_view word) const {
    return token().kind == TokenKind::identifier && token().text == word;
  }
  bool take(std::string_view symbol) {
    if (!is(symbol)) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (!is_word(word)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view symbol, std::string_view where);
  std::string_view expect_name(std::string_view what);
  /// Reports once and skips to the end, so that every loop ends.
  void fail(std::string message, std::string way_out = {});
  bool failed() const { return failed_; }

  Expr& make(ExprKind kind, Position at) {
    file_.expressions.push_back(Expr{.kind = kind, .at = at});
    return file_.expressions.back();
  }
  Stmt& make(StmtKind kind, Position at) {
    file_.statements.push_back(Stmt{.kind = kind, .at = at});
    return file_.statements.back();
  }

  /// Counts nesting while it lives.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDeepest) {
        parser_.fail("this is nested deeper than 200 levels", "Name parts of it.");
      }
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  File& file_;
  std::vector<Token> tokens_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

/// What a token looks like in a message.
std::string shown(const Token& token);

}  // namespace tensorpress::csl
