// What the parser makes of a model's text: statements and expressions, nothing resolved yet.
// docs/model-text.md describes the language; parse.cc has the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/graph/types.h"
#include "model/text/source.h"

namespace tensorpress::model {

struct TextExpression {
  enum class Kind : std::uint8_t {
    integer,    // word: digits
    number,     // word: digits with a point or an exponent
    string,     // word: without its quotes
    flag,       // word: true or false
    none,       // nothing: the argument is left out
    name,       // word
    parameter,  // @word: a parameter by its dotted path
    list,       // children
    negative,   // children[0]
    negation,   // children[0]
    binary,     // word: the operator; children[0], children[1]
    call,       // word: operator or block; children with keywords; instance
  };
  Kind kind = Kind::integer;
  Place place;
  std::string word;
  std::vector<TextExpression> children;
  std::uint32_t depth = 1;  // of the tree that begins here; 1 + 2 + 3 is (1 + 2) + 3 and has 3
  // Of a call only. A keyword is empty for a positional argument. The instance is the path in front
  // of the colon, with {expressions} still in it; shared: its parameters exist already.
  std::vector<std::string> keywords;
  std::string instance;
  bool shared = false;
};

struct Statement {
  enum class Kind : std::uint8_t {
    model,       // names[0]
    input,       // names[0]: type
    target,      // names[0]: type
    parameter,   // names[0]: type, expressions[0] (init) if given
    assignment,  // names = expressions[0]
    loss,        // expressions[0]
    output,      // names[0]
    block,       // names[0]; names[1...] parameters with defaults; body
    repeat,      // names[0] in expressions[0] .. expressions[1]; body
    condition,   // expressions[0]; body; otherwise
    result,      // return expressions
  };
  Kind kind = Kind::assignment;
  Place place;
  std::vector<std::string> names;
  std::vector<TextExpression> expressions;
  std::string element;                  // of a declaration: "f32"
  bool sparse = false;                  // of a declaration: csr
  std::vector<TextExpression> shape;    // of a declaration
  std::vector<TextExpression> entries;  // of a declaration: one if given
  // Of a block: the default of each parameter; a missing one has kind `none` and line 0.
  std::vector<TextExpression> defaults;
  std::vector<Statement> body;
  std::vector<Statement> otherwise;
};

/// The statements of a text. Mistakes are shown with line, column and caret.
Result<std::vector<Statement>> parse(const SourceText& source);

}  // namespace tensorpress::model
