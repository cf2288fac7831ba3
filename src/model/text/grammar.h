// The grammar of one line of model text (PEGTL, parsing expressions). Lines are parsed one by one;
// what spans lines (blocks, repetition, conditions) is put together in parse.cc.
//
//   line       := [statement] [# comment]
//   statement  := model NAME | input NAME: type | target NAME: type | param NAME: type [= init]
//               | block NAME(NAME [= e], ...) | repeat NAME in e..e | if e | else | end
//               | return e, ... | loss e | output NAME | NAME, ... = e
//   type       := ELEMENT[e, ...] | csr ELEMENT[e, e] [entries e]
//   e          := or, and, not, comparison, sum, product, -, primary, from weak to strong
//   primary    := number | infinity | "string" | true | false | none | @path | call | NAME | [e,
//   ...] | (e) call       := [share] [path:] NAME(e | NAME = e, ...)        path may contain {e}
#pragma once

#include <tao/pegtl.hpp>

namespace tensorpress::model::grammar {

namespace peg = tao::pegtl;

struct gap : peg::star<peg::blank> {};
template <char... C>
struct symbol : peg::seq<gap, peg::string<C...>, gap> {};
template <class Word>
struct whole_word : peg::seq<Word, peg::not_at<peg::identifier_other>> {};

struct keyword
    : whole_word<
          peg::sor<TAO_PEGTL_STRING("model"), TAO_PEGTL_STRING("input"), TAO_PEGTL_STRING("target"),
                   TAO_PEGTL_STRING("param"), TAO_PEGTL_STRING("block"), TAO_PEGTL_STRING("repeat"),
                   TAO_PEGTL_STRING("in"), TAO_PEGTL_STRING("if"), TAO_PEGTL_STRING("else"),
                   TAO_PEGTL_STRING("end"), TAO_PEGTL_STRING("return"), TAO_PEGTL_STRING("loss"),
                   TAO_PEGTL_STRING("output"), TAO_PEGTL_STRING("share"), TAO_PEGTL_STRING("true"),
                   TAO_PEGTL_STRING("false"), TAO_PEGTL_STRING("none"), TAO_PEGTL_STRING("and"),
                   TAO_PEGTL_STRING("or"), TAO_PEGTL_STRING("not"), TAO_PEGTL_STRING("csr"),
                   TAO_PEGTL_STRING("infinity")>> {};
struct name : peg::seq<peg::not_at<keyword>, peg::identifier> {};

// --- Expressions ---------------------------------------------------------------------------------
struct expression;
struct exponent
    : peg::seq<peg::one<'e', 'E'>, peg::opt<peg::one<'+', '-'>>, peg::plus<peg::digit>> {};
struct infinity : whole_word<TAO_PEGTL_STRING("infinity")> {};
struct fraction : peg::seq<peg::one<'.'>, peg::plus<peg::digit>, peg::opt<exponent>> {};
struct number : peg::sor<infinity, peg::seq<peg::plus<peg::digit>, peg::sor<fraction, exponent>>> {
};
struct integer : peg::seq<peg::plus<peg::digit>, peg::not_at<peg::identifier_other>> {};
struct string_text : peg::star<peg::not_one<'"', '\n'>> {};
struct string_end : peg::one<'"'> {};
struct string_literal : peg::if_must<peg::one<'"'>, string_text, string_end> {};
struct flag : whole_word<peg::sor<TAO_PEGTL_STRING("true"), TAO_PEGTL_STRING("false")>> {};
struct nothing : whole_word<TAO_PEGTL_STRING("none")> {};

struct path_expression
    : peg::seq<peg::one<'{'>, peg::plus<peg::not_one<'{', '}', '\n'>>, peg::one<'}'>> {};
struct path_segment : peg::plus<peg::sor<path_expression, peg::identifier_other>> {};
struct path : peg::list<path_segment, peg::one<'.'>> {};
struct parameter_path : path {};
struct parameter : peg::if_must<peg::one<'@'>, parameter_path> {};

struct share : whole_word<TAO_PEGTL_STRING("share")> {};
struct instance : path {};
struct argument_keyword : name {};
struct argument
    : peg::seq<peg::opt<argument_keyword, gap, peg::one<'='>, peg::not_at<peg::one<'='>>, gap>,
               expression> {};
struct arguments_end : peg::one<')'> {};
struct arguments : peg::if_must<peg::one<'('>, gap, peg::opt<peg::list<argument, symbol<','>>>, gap,
                                arguments_end> {};
struct called : name {};
struct call : peg::seq<peg::opt<share, peg::plus<peg::blank>>,
                       peg::opt<instance, gap, peg::one<':'>, gap>, called, arguments> {};
struct list_end : peg::one<']'> {};
struct list : peg::if_must<peg::one<'['>, gap, peg::opt<peg::list<expression, symbol<','>>>, gap,
                           list_end> {};
struct group_end : peg::one<')'> {};
struct group : peg::if_must<peg::one<'('>, gap, expression, gap, group_end> {};
struct variable : name {};
struct primary : peg::sor<parameter, call, number, integer, string_literal, flag, nothing, list,
                          group, variable> {};

struct negative : peg::seq<peg::one<'-'>, gap, primary> {};
struct factor : peg::sor<negative, primary> {};
struct product_sign : peg::sor<peg::string<'/', '/'>, peg::one<'*', '/', '%'>> {};
struct product_rest : peg::if_must<peg::seq<gap, product_sign, gap>, factor> {};
struct product : peg::seq<factor, peg::star<product_rest>> {};
struct sum_sign : peg::one<'+', '-'> {};
struct sum_rest : peg::if_must<peg::seq<gap, sum_sign, gap>, product> {};
struct sum : peg::seq<product, peg::star<sum_rest>> {};
struct comparison_sign
    : peg::sor<peg::string<'=', '='>, peg::string<'!', '='>, peg::string<'<', '='>,
               peg::string<'>', '='>, peg::one<'<', '>'>> {};
struct comparison_rest : peg::if_must<peg::seq<gap, comparison_sign, gap>, sum> {};
struct comparison : peg::seq<sum, peg::opt<comparison_rest>> {};
struct not_word : whole_word<TAO_PEGTL_STRING("not")> {};
struct negation : peg::seq<not_word, gap, comparison> {};
struct truth : peg::sor<negation, comparison> {};
struct and_sign : whole_word<TAO_PEGTL_STRING("and")> {};
struct and_rest : peg::if_must<peg::seq<gap, and_sign, gap>, truth> {};
struct conjunction : peg::seq<truth, peg::star<and_rest>> {};
struct or_sign : whole_word<TAO_PEGTL_STRING("or")> {};
struct or_rest : peg::if_must<peg::seq<gap, or_sign, gap>, conjunction> {};
struct expression : peg::seq<conjunction, peg::star<or_rest>> {};

// --- Statements ----------------------------------------------------------------------------------
template <class Word>
struct starts : peg::seq<whole_word<Word>, gap> {};
struct declared : name {};
struct colon : symbol<':'> {};
struct sparse : whole_word<TAO_PEGTL_STRING("csr")> {};
struct element : peg::plus<peg::identifier_other> {};
struct shape_begin : peg::one<'['> {};
struct shape_end : peg::one<']'> {};
struct shape
    : peg::seq<shape_begin, gap, peg::opt<peg::list<expression, symbol<','>>>, gap, shape_end> {};
struct declared_shape : shape {};
struct entries_word : whole_word<TAO_PEGTL_STRING("entries")> {};
struct declared_entries : peg::if_must<peg::seq<gap, entries_word, gap>, expression> {};
struct declared_type : peg::seq<peg::opt<sparse, gap>, element, gap, peg::must<declared_shape>,
                                peg::opt<declared_entries>> {};
struct initial : peg::if_must<symbol<'='>, expression> {};

struct model_line : peg::if_must<starts<TAO_PEGTL_STRING("model")>, declared> {};
struct input_line
    : peg::if_must<starts<TAO_PEGTL_STRING("input")>, declared, colon, declared_type> {};
struct target_line
    : peg::if_must<starts<TAO_PEGTL_STRING("target")>, declared, colon, declared_type> {};
struct param_line : peg::if_must<starts<TAO_PEGTL_STRING("param")>, declared, colon, declared_type,
                                 peg::opt<initial>> {};
struct block_parameter : peg::seq<declared, peg::opt<initial>> {};
struct block_line
    : peg::if_must<starts<TAO_PEGTL_STRING("block")>, declared, symbol<'('>,
                   peg::opt<peg::list<block_parameter, symbol<','>>>, gap, arguments_end> {};
struct range_dots : symbol<'.', '.'> {};
struct repeat_in : peg::seq<gap, whole_word<TAO_PEGTL_STRING("in")>, gap> {};
struct repeat_line : peg::if_must<starts<TAO_PEGTL_STRING("repeat")>, declared, repeat_in,
                                  expression, range_dots, expression> {};
struct if_line : peg::if_must<starts<TAO_PEGTL_STRING("if")>, expression> {};
struct else_line : starts<TAO_PEGTL_STRING("else")> {};
struct end_line : starts<TAO_PEGTL_STRING("end")> {};
struct return_line
    : peg::if_must<starts<TAO_PEGTL_STRING("return")>, peg::list<expression, symbol<','>>> {};
struct loss_line : peg::if_must<starts<TAO_PEGTL_STRING("loss")>, expression> {};
struct output_line : peg::if_must<starts<TAO_PEGTL_STRING("output")>, declared> {};
struct equals : peg::seq<gap, peg::one<'='>, peg::not_at<peg::one<'='>>, gap> {};
struct assignment_line
    : peg::if_must<peg::seq<peg::list<declared, symbol<','>>, equals>, expression> {};

struct statement
    : peg::sor<model_line, input_line, target_line, param_line, block_line, repeat_line, if_line,
               else_line, end_line, return_line, loss_line, output_line, assignment_line> {};
struct comment : peg::seq<peg::one<'#'>, peg::until<peg::eof>> {};
struct line_end : peg::seq<gap, peg::opt<comment>, peg::eof> {};
struct line : peg::seq<gap, peg::sor<peg::at<peg::sor<comment, peg::eof>>, peg::must<statement>>,
                       peg::must<line_end>> {};
struct only_expression : peg::seq<gap, peg::must<expression>, gap, peg::must<peg::eof>> {};

// --- What is missing, where a rule that must match does not --------------------------------------
template <class>
inline constexpr const char* missing = nullptr;
template <>
inline constexpr auto missing<statement> =
    "this is not a statement; expected model, input, target, param, block, repeat, if, return, "
    "loss, "
    "output or NAME = ...";
template <>
inline constexpr auto missing<line_end> = "this does not belong here";
template <>
inline constexpr auto missing<peg::eof> = "this does not belong here";
template <>
inline constexpr auto missing<declared> = "expected a name that is not a keyword";
template <>
inline constexpr auto missing<colon> = "expected ':' and a type such as f32[N, 3, 32, 32]";
template <>
inline constexpr auto missing<declared_type> = "expected a type such as f32[N, 3, 32, 32]";
template <>
inline constexpr auto missing<declared_shape> = "expected a shape such as [N, 3, 32, 32]";
template <>
inline constexpr auto missing<expression> = "expected an expression";
template <>
inline constexpr auto missing<peg::list<expression, symbol<','>>> = "expected an expression";
template <>
inline constexpr auto missing<factor> = "expected a value after the operator";
template <>
inline constexpr auto missing<product> = "expected a value after the operator";
template <>
inline constexpr auto missing<sum> = "expected a value after the comparison";
template <>
inline constexpr auto missing<truth> = "expected a condition after 'and'";
template <>
inline constexpr auto missing<conjunction> = "expected a condition after 'or'";
template <>
inline constexpr auto missing<string_text> = "expected text";
template <>
inline constexpr auto missing<string_end> = "the string has no closing quote";
template <>
inline constexpr auto missing<parameter_path> =
    "expected the path of a parameter, such as @embedding.weight";
template <>
inline constexpr auto missing<arguments_end> = "expected ',' or ')'";
template <>
inline constexpr auto missing<list_end> = "expected ',' or ']'";
template <>
inline constexpr auto missing<group_end> = "expected ')'";
template <>
inline constexpr auto missing<repeat_in> = "expected 'in' and a range such as 0..4";
template <>
inline constexpr auto missing<range_dots> = "expected '..' and the end of the range";
template <>
inline constexpr auto missing<symbol<'('>> = "expected '(' and the block's parameters";

/// Says what is missing where a rule that must match does not.
template <class Rule>
struct Control : peg::normal<Rule> {
  template <class Input, class... States>
  [[noreturn]] static void raise(const Input& input, States&&... /*states*/) {
    throw peg::parse_error(missing<Rule> == nullptr ? "this is not understood" : missing<Rule>,
                           input);
  }
};

}  // namespace tensorpress::model::grammar
