// The tree of a CSL file. Nodes live in the file's arena and are never changed after parsing; names
// are views of the source text, numbers and strings are values: nothing is parsed twice.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "csl/text/lexer.h"
#include "csl/text/source.h"

namespace tensorpress::csl {

enum class Operator : std::uint8_t {
  none,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  negate,
  bit_not,
  logical_not,
};

enum class ExprKind : std::uint8_t {
  name,           // name
  builtin,        // @name(items)
  call,           // a(items)
  integer,        // integer
  real,           // real
  string,         // words
  field,          // a.name
  enum_value,     // .name, of an enum known from the context
  dereference,    // a.*
  index,          // a[items]
  unary,          // op a
  binary,         // a op b
  address,        // &a
  choice,         // if (a) b else c
  anonymous,      // .{items} or .{.names = items}
  typed,          // a{items} or a{.names = items}
  array_type,     // [items]a
  pointer_type,   // *a, [*]a; many, constant
  function_type,  // fn(items) a, task(items) a
  struct_type,    // struct { names: items }
  enum_type,      // enum(a) { names = items }
  union_type,     // union { names: items }
  tensor_access,  // |names|{items} -> a[b.items]; b is the index expression
  forced,         // comptime a
  block,          // {}: the value of type void
};

struct Stmt;

struct Expr {
  ExprKind kind;
  Position at;
  Operator op = Operator::none;
  bool many = false;      // pointer_type: [*]
  bool constant = false;  // pointer_type: const
  std::string_view name = {};
  const Expr* a = nullptr;
  const Expr* b = nullptr;
  const Expr* c = nullptr;
  std::vector<const Expr*> items = {};
  std::vector<std::string_view> names = {};
  Wide integer = 0;
  double real = 0;
  std::string words = {};
};

enum class StmtKind : std::uint8_t {
  expression,  // a
  variable,    // const or var name: type = a
  assign,      // a op= b
  choice,      // if (a) first else second
  while_loop,  // while (a) : (second) first
  for_loop,    // for (a) |names| first
  selection,   // switch (a) { cases }
  returning,   // return a
  breaking,    // break
  continuing,  // continue
  block,       // { body }
  comptime,    // comptime first
};

struct Case {
  std::vector<const Expr*> values;  // none: else
  const Stmt* body;
};

struct Stmt {
  StmtKind kind;
  Position at;
  Operator op = Operator::none;
  bool constant = false;  // variable
  bool forced = false;    // inline for, inline while
  std::string_view name = {};
  const Expr* a = nullptr;
  const Expr* b = nullptr;
  const Expr* type = nullptr;
  const Stmt* first = nullptr;
  const Stmt* second = nullptr;
  std::vector<const Stmt*> body = {};
  std::vector<std::string_view> names = {};
  std::vector<Case> cases = {};
};

struct Parameter {
  Position at;
  std::string_view name;
  const Expr* type = nullptr;  // none: anytype
  bool comptime = false;
};

enum class DeclarationKind : std::uint8_t {
  param,
  constant,
  variable,
  function,
  task,
  comptime,
  layout
};

struct Declaration {
  DeclarationKind kind;
  Position at;
  std::string_view name = {};
  bool exported = false;
  bool outside = false;         // extern
  const Expr* type = nullptr;   // of values; result of functions
  const Expr* value = nullptr;  // initial or default value
  const Expr* alignment = nullptr;
  std::vector<Parameter> parameters = {};
  const Stmt* body = nullptr;
};

struct File {
  std::uint32_t id = 0;
  std::vector<Declaration> declarations;
  std::deque<Expr> expressions;  // the arenas
  std::deque<Stmt> statements;
};

}  // namespace tensorpress::csl
