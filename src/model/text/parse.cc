// From lines to statements. Every line is parsed by the grammar of grammar.h into a tree of its own
// and translated; `block`, `repeat` and `if` gather the lines up to their `end`.
#include <algorithm>
#include <optional>
#include <tao/pegtl/contrib/parse_tree.hpp>

#include "base/errors.h"
#include "model/text/arguments.h"
#include "model/text/grammar.h"
#include "model/text/syntax.h"

namespace tensorpress::model {
namespace {

namespace peg = tao::pegtl;
namespace tree = tao::pegtl::parse_tree;

// Recursion follows brackets only, so these two bound it.
constexpr std::size_t kDeepestBrackets = 64;
constexpr std::size_t kLongestLine = 8192;
constexpr std::size_t kDeepestBodies = 32;
// What follows a tree of expressions recurses: evaluating it, and taking it down.
constexpr std::uint32_t kDeepestExpression = 500;

// Nodes that vanish when they hold a single part: (a) is a, and a sum of one is that one.
template <class Rule>
using Selected = tree::selector<
    Rule,
    tree::store_content::on<grammar::number, grammar::integer, grammar::string_text, grammar::flag,
                            grammar::nothing, grammar::parameter_path, grammar::share,
                            grammar::instance, grammar::argument_keyword, grammar::called,
                            grammar::variable, grammar::product_sign, grammar::sum_sign,
                            grammar::comparison_sign, grammar::and_sign, grammar::or_sign,
                            grammar::declared, grammar::element, grammar::sparse>,
    tree::remove_content::on<
        grammar::argument, grammar::call, grammar::list, grammar::negative, grammar::negation,
        grammar::initial, grammar::declared_shape, grammar::declared_entries,
        grammar::block_parameter, grammar::model_line, grammar::input_line, grammar::target_line,
        grammar::param_line, grammar::block_line, grammar::repeat_line, grammar::if_line,
        grammar::else_line, grammar::end_line, grammar::return_line, grammar::loss_line,
        grammar::output_line, grammar::assignment_line>,
    tree::fold_one::on<grammar::product, grammar::sum, grammar::comparison, grammar::conjunction,
                       grammar::expression>>;

using TreeNode = tree::node;

Place place_of(const TreeNode& node) {
  const auto begin = node.begin();
  return {static_cast<std::uint32_t>(begin.line), static_cast<std::uint32_t>(begin.column)};
}

TextExpression leaf(TextExpression::Kind kind, const TreeNode& node) {
  TextExpression made;
  made.kind = kind;
  made.place = place_of(node);
  if (node.has_content()) made.word = node.string();
  return made;
}

TextExpression translate(const TreeNode& node);

void add_child(TextExpression& parent, TextExpression child) {
  parent.depth = std::max(parent.depth, child.depth + 1);
  parent.children.push_back(std::move(child));
}

/// a - b - c as (a - b) - c. The children are value, sign, value, sign, value. A row that is too
/// long to be accepted is not followed to its end.
TextExpression fold_left(const TreeNode& node) {
  TextExpression folded = translate(*node.children[0]);
  for (std::size_t i = 1; i + 1 < node.children.size(); i += 2) {
    if (folded.depth > kDeepestExpression) break;
    TextExpression binary = leaf(TextExpression::Kind::binary, *node.children[i]);
    add_child(binary, std::move(folded));
    add_child(binary, translate(*node.children[i + 1]));
    folded = std::move(binary);
  }
  return folded;
}

TextExpression translate_call(const TreeNode& node) {
  TextExpression call = leaf(TextExpression::Kind::call, node);
  for (const auto& child : node.children) {
    if (child->is_type<grammar::share>()) {
      call.shared = true;
    } else if (child->is_type<grammar::instance>()) {
      call.instance = child->string();
    } else if (child->is_type<grammar::called>()) {
      call.word = child->string();
      call.place = place_of(*child);
    } else {
      const bool named = child->children.size() == 2;
      call.keywords.push_back(named ? child->children[0]->string() : std::string());
      add_child(call, translate(*child->children.back()));
    }
  }
  return call;
}

TextExpression translate(const TreeNode& node) {
  using Kind = TextExpression::Kind;
  if (node.is_type<grammar::integer>()) return leaf(Kind::integer, node);
  if (node.is_type<grammar::number>()) return leaf(Kind::number, node);
  if (node.is_type<grammar::string_text>()) return leaf(Kind::string, node);
  if (node.is_type<grammar::flag>()) return leaf(Kind::flag, node);
  if (node.is_type<grammar::nothing>()) return leaf(Kind::none, node);
  if (node.is_type<grammar::variable>()) return leaf(Kind::name, node);
  if (node.is_type<grammar::parameter_path>()) return leaf(Kind::parameter, node);
  if (node.is_type<grammar::call>()) return translate_call(node);
  if (node.is_type<grammar::list>() || node.is_type<grammar::negative>() ||
      node.is_type<grammar::negation>()) {
    TextExpression made = leaf(node.is_type<grammar::list>()       ? Kind::list
                               : node.is_type<grammar::negative>() ? Kind::negative
                                                                   : Kind::negation,
                               node);
    for (const auto& child : node.children) add_child(made, translate(*child));
    return made;
  }
  return fold_left(node);
}

void translate_declaration(const TreeNode& node, Statement& statement) {
  for (const auto& child : node.children) {
    if (child->is_type<grammar::declared>()) {
      statement.names.push_back(child->string());
    } else if (child->is_type<grammar::sparse>()) {
      statement.sparse = true;
    } else if (child->is_type<grammar::element>()) {
      statement.element = child->string();
    } else if (child->is_type<grammar::declared_shape>()) {
      for (const auto& extent : child->children) statement.shape.push_back(translate(*extent));
    } else if (child->is_type<grammar::declared_entries>()) {
      statement.entries.push_back(translate(*child->children[0]));
    } else if (child->is_type<grammar::initial>()) {
      statement.expressions.push_back(translate(*child->children[0]));
    }
  }
}

void translate_block(const TreeNode& node, Statement& statement) {
  for (const auto& child : node.children) {
    if (child->is_type<grammar::declared>()) {
      statement.names.push_back(child->string());
      continue;
    }
    statement.names.push_back(child->children[0]->string());
    TextExpression value;
    value.kind = TextExpression::Kind::none;
    if (child->children.size() == 2) value = translate(*child->children[1]->children[0]);
    statement.defaults.push_back(std::move(value));
  }
}

Statement translate_statement(const TreeNode& node) {
  using Kind = Statement::Kind;
  Statement statement;
  statement.place = place_of(node);
  const auto kind = [&](Kind wanted) { statement.kind = wanted; };
  if (node.is_type<grammar::block_line>()) {
    kind(Kind::block);
    translate_block(node, statement);
    return statement;
  }
  if (node.is_type<grammar::model_line>()) kind(Kind::model);
  if (node.is_type<grammar::input_line>()) kind(Kind::input);
  if (node.is_type<grammar::target_line>()) kind(Kind::target);
  if (node.is_type<grammar::param_line>()) kind(Kind::parameter);
  if (node.is_type<grammar::repeat_line>()) kind(Kind::repeat);
  if (node.is_type<grammar::if_line>()) kind(Kind::condition);
  if (node.is_type<grammar::return_line>()) kind(Kind::result);
  if (node.is_type<grammar::loss_line>()) kind(Kind::loss);
  if (node.is_type<grammar::output_line>()) kind(Kind::output);
  if (statement.kind == Kind::input || statement.kind == Kind::target ||
      statement.kind == Kind::parameter) {
    translate_declaration(node, statement);
    return statement;
  }
  for (const auto& child : node.children) {
    if (child->is_type<grammar::declared>()) {
      statement.names.push_back(child->string());
    } else {
      statement.expressions.push_back(translate(*child));
    }
  }
  return statement;
}

/// An expression that is too deep, if the statement has one.
const TextExpression* too_deep(const Statement& statement) {
  for (const auto* all :
       {&statement.expressions, &statement.shape, &statement.entries, &statement.defaults}) {
    for (const TextExpression& each : *all) {
      if (each.depth > kDeepestExpression) return &each;
    }
  }
  return nullptr;
}

Error deep_error(const SourceText& source, Place place) {
  return source.error_at(place, text("the expression is deeper than ", kDeepestExpression,
                                     "; give names to parts of it"));
}

/// Too deep or too long for the recursion of the grammar.
std::optional<Error> refuse_line(const SourceText& source, std::uint32_t number) {
  const std::string_view line = source.line(number);
  if (line.size() > kLongestLine) {
    return source.error_at({number, 1}, text("the line has ", line.size(),
                                             " characters; the longest line has ", kLongestLine));
  }
  std::size_t depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (depth > kDeepestBrackets) {
      return source.error_at({number, static_cast<std::uint32_t>(i + 1)},
                             text("more than ", kDeepestBrackets, " brackets are open"));
    }
  }
  return std::nullopt;
}

/// One line: nothing, a statement, or one of the words that end a body.
struct LineResult {
  enum class Kind : std::uint8_t { empty, statement, otherwise, end };
  Kind kind = Kind::empty;
  Statement statement;
};

Result<LineResult> parse_line(const SourceText& source, std::uint32_t number) {
  if (auto refused = refuse_line(source, number)) return *std::move(refused);
  const std::string_view line = source.line(number);
  peg::memory_input<> input(line.data(), line.data() + line.size(), std::string(), 0, number, 1);
  try {
    const auto root =
        tree::parse<grammar::line, TreeNode, Selected, peg::nothing, grammar::Control>(input);
    LineResult result;
    if (!root || root->children.empty()) return result;
    const TreeNode& node = *root->children[0];
    result.kind = node.is_type<grammar::else_line>()  ? LineResult::Kind::otherwise
                  : node.is_type<grammar::end_line>() ? LineResult::Kind::end
                                                      : LineResult::Kind::statement;
    result.statement = translate_statement(node);
    if (const TextExpression* deep = too_deep(result.statement))
      return deep_error(source, deep->place);
    return result;
  } catch (const peg::parse_error& error) {
    const peg::position& at = error.positions().front();
    return source.error_at({number, static_cast<std::uint32_t>(at.column)}, error.message());
  }
}

/// A body that is still open: a block, repetition or condition, and which of its parts is filled.
struct Open {
  Statement statement;
  bool otherwise = false;
};

bool opens(const Statement& statement) {
  return statement.kind == Statement::Kind::block || statement.kind == Statement::Kind::repeat ||
         statement.kind == Statement::Kind::condition;
}

}  // namespace

Result<TextExpression> parse_expression(const SourceText& source, Place place,
                                        std::string_view inner) {
  peg::memory_input<> input(inner.data(), inner.data() + inner.size(), std::string(), 0, place.line,
                            place.column);
  try {
    const auto root =
        tree::parse<grammar::only_expression, TreeNode, Selected, peg::nothing, grammar::Control>(
            input);
    TextExpression expression = translate(*root->children[0]);
    if (expression.depth > kDeepestExpression) return deep_error(source, place);
    return expression;
  } catch (const peg::parse_error& error) {
    return source.error_at(place, text("{", inner, "}: ", error.message()));
  }
}

Result<std::vector<Statement>> parse(const SourceText& source) {
  std::vector<Statement> statements;
  std::vector<Open> open;
  const auto add = [&](Statement statement) {
    if (open.empty()) {
      statements.push_back(std::move(statement));
    } else {
      Open& top = open.back();
      (top.otherwise ? top.statement.otherwise : top.statement.body)
          .push_back(std::move(statement));
    }
  };
  for (std::uint32_t number = 1; number <= source.line_count(); ++number) {
    TRY(LineResult line, parse_line(source, number));
    const Place place = line.statement.place;
    switch (line.kind) {
      case LineResult::Kind::empty:
        break;
      case LineResult::Kind::statement:
        if (opens(line.statement)) {
          if (open.size() == kDeepestBodies) {
            return source.error_at(place, text("more than ", kDeepestBodies, " bodies are open"));
          }
          if (line.statement.kind == Statement::Kind::block && !open.empty()) {
            return source.error_at(place, "a block cannot stand inside another body");
          }
          open.push_back({std::move(line.statement), false});
        } else {
          add(std::move(line.statement));
        }
        break;
      case LineResult::Kind::otherwise:
        if (open.empty() || open.back().statement.kind != Statement::Kind::condition ||
            open.back().otherwise) {
          return source.error_at(place, "this 'else' belongs to no 'if'");
        }
        open.back().otherwise = true;
        break;
      case LineResult::Kind::end: {
        if (open.empty()) return source.error_at(place, "this 'end' closes nothing");
        Statement closed = std::move(open.back().statement);
        open.pop_back();
        add(std::move(closed));
        break;
      }
    }
  }
  if (!open.empty()) {
    return source.error_at(open.back().statement.place, "the body that begins here has no 'end'");
  }
  return statements;
}

}  // namespace tensorpress::model
