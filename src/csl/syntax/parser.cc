#include "csl/syntax/parser.h"

#include "csl/syntax/parsing.h"

namespace tensorpress::csl {

std::string shown(const Token& token) {
  switch (token.kind) {
    case TokenKind::end:
      return "the end of the file";
    case TokenKind::string:
      return "a string";
    case TokenKind::builtin:
      return "'@" + std::string(token.text) + "'";
    default:
      return "'" + std::string(token.text) + "'";
  }
}

void Parser::fail(std::string message, std::string way_out) {
  if (failed_) return;
  failed_ = true;
  diagnostics_.error(token().at, std::move(message), std::move(way_out));
  at_ = tokens_.size() - 1;
}

void Parser::expect(std::string_view symbol, std::string_view where) {
  if (take(symbol)) return;
  fail("'" + std::string(symbol) + "' is missing " + std::string(where) + ", here is " +
       shown(token()));
}

std::string_view Parser::expect_name(std::string_view what) {
  if (token().kind == TokenKind::identifier) return tokens_[at_++].text;
  fail(std::string(what) + " needs a name, here is " + shown(token()));
  return {};
}

bool Parser::run() {
  while (token().kind != TokenKind::end) declaration();
  return !failed();
}

void Parser::declaration() {
  Declaration made{.kind = DeclarationKind::constant, .at = token().at};
  if (take_word("comptime")) {
    made.kind = DeclarationKind::comptime;
    made.body = block();
  } else if (take_word("layout")) {
    made.kind = DeclarationKind::layout;
    made.body = block();
  } else {
    made.exported = take_word("export");
    made.outside = take_word("extern");
    if (is_word("const") || is_word("var") || is_word("param")) return value_declaration(made);
    take_word("inline");
    if (is_word("fn") || is_word("task")) return function_declaration(made);
    return fail(
        "a declaration begins with const, var, param, fn, task, comptime, layout, export "
        "or extern, here is " +
            shown(token()),
        "Statements belong into functions, tasks, comptime or layout blocks.");
  }
  file_.declarations.push_back(std::move(made));
}

void Parser::value_declaration(Declaration made) {
  made.kind = take_word("const")   ? DeclarationKind::constant
              : take_word("param") ? DeclarationKind::param
                                   : DeclarationKind::variable;
  if (made.kind == DeclarationKind::variable) take_word("var");
  made.at = token().at;
  made.name = expect_name("a declaration");
  if (take(":")) made.type = type();
  while (!failed() && (is_word("align") || is_word("linksection")) && is_next("(")) {
    const bool alignment = is_word("align");
    at_ += 2;
    const Expr* value = expression();
    if (alignment) made.alignment = value;
    expect(")", "behind the alignment");
  }
  if (take("=")) made.value = expression();
  expect(";", "behind this declaration");
  file_.declarations.push_back(std::move(made));
}

void Parser::function_declaration(Declaration made) {
  made.kind = take_word("fn") ? DeclarationKind::function : DeclarationKind::task;
  if (made.kind == DeclarationKind::task) take_word("task");
  made.at = token().at;
  made.name = expect_name("a function");
  expect("(", "behind the name of the function");
  while (!failed() && !is(")")) {
    Parameter parameter{.at = token().at, .name = {}};
    parameter.comptime = is_word("comptime") && !is_next(":") && take_word("comptime");
    parameter.name = expect_name("a parameter");
    expect(":", "between a parameter and its type");
    if (!take_word("anytype")) parameter.type = type();
    made.parameters.push_back(parameter);
    if (!take(",")) break;
  }
  expect(")", "behind the parameters");
  take(":");  // early versions had a colon in front of the result
  if (!is("{") && !is(";")) made.type = type();
  if (made.outside && take(";")) {
    // a function that somebody else defines
  } else {
    made.body = block();
  }
  file_.declarations.push_back(std::move(made));
}

std::unique_ptr<File> parsed(const Sources& sources, std::uint32_t file, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.errors();
  std::vector<Token> tokens = tokens_of(sources, file, diagnostics);
  if (diagnostics.errors() != before) return nullptr;
  auto made = std::make_unique<File>();
  made->id = file;
  if (!Parser(*made, std::move(tokens), diagnostics).run()) return nullptr;
  return made;
}

}  // namespace tensorpress::csl
