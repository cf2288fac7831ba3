// Operators and conversions, on what is known and on registers.
#include <cmath>
#include <optional>

#include "csl/meaning/evaluator.h"

namespace tensorpress::csl {
namespace {

bool is_comparison(Operator op) {
  return op >= Operator::equal && op <= Operator::greater_equal;
}

/// What a comparison of two known values says; nothing for other operators.
template <class T>
std::optional<bool> compared(Operator op, const T& x, const T& y) {
  switch (op) {
    case Operator::equal:
      return x == y;
    case Operator::not_equal:
      return x != y;
    case Operator::less:
      return x < y;
    case Operator::less_equal:
      return x <= y;
    case Operator::greater:
      return x > y;
    case Operator::greater_equal:
      return x >= y;
    default:
      return std::nullopt;
  }
}

bool is_shift(Operator op) {
  return op == Operator::shift_left || op == Operator::shift_right;
}

}  // namespace

Value Evaluator::unary(const Expr& expr, const Type* expected) {
  const Value a = value(*expr.a, expected);
  if (!a.ok()) return {};
  const bool logical = expr.op == Operator::logical_not;
  if (logical ? !a.type->is(TypeKind::boolean) : !a.type->is_number()) {
    return wrong(expr.at, std::string(logical ? "! needs a bool" : "this operator needs a number") +
                              ", here is " + a.type->name);
  }
  if (a.known()) {
    if (logical) return known(a.type, a.integer == 0 ? 1 : 0);
    if (a.type->is(TypeKind::real) || a.type->is(TypeKind::comptime_real))
      return known_real(a.type, -a.real);
    if (a.type->is(TypeKind::comptime_integer)) {
      return known(a.type, expr.op == Operator::negate ? -a.integer : ~a.integer);
    }
    return known(a.type,
                 computed(expr.op, a.type->scalar, static_cast<std::int64_t>(a.integer), 0));
  }
  const std::uint16_t from = in_register(a, expr.at), to = fresh(expr.at);
  emit({.code = Code::compute,
        .op = expr.op,
        .scalar = a.type->scalar,
        .a = to,
        .b = from,
        .c = from},
       expr.at);
  return held_value(a.type, to);
}

Value Evaluator::short_circuit(const Expr& expr) {
  const bool is_and = expr.op == Operator::logical_and;
  const Value a = coerced(value(*expr.a), types_.boolean, expr.a->at);
  if (!a.ok()) return {};
  if (a.known()) {
    if ((a.integer != 0) != is_and) return a;
    return coerced(value(*expr.b), types_.boolean, expr.b->at);
  }
  const std::uint16_t result = fresh(expr.at);
  emit({.code = Code::move, .a = result, .b = a.held}, expr.at);
  std::uint16_t test = result;
  if (!is_and) {
    test = fresh(expr.at);
    emit({.code = Code::compute,
          .op = Operator::logical_not,
          .scalar = Scalar::boolean,
          .a = test,
          .b = result,
          .c = result},
         expr.at);
  }
  const std::size_t over = emit({.code = Code::jump_unless, .a = test}, expr.at);
  const Value b = coerced(value(*expr.b), types_.boolean, expr.b->at);
  if (b.ok()) emit({.code = Code::move, .a = result, .b = in_register(b, expr.at)}, expr.at);
  patch({over});
  return held_value(types_.boolean, result);
}

Value Evaluator::binary(const Expr& expr, const Type* expected) {
  if (expr.op == Operator::logical_and || expr.op == Operator::logical_or)
    return short_circuit(expr);
  const Type* hint = is_comparison(expr.op) ? nullptr : expected;
  Value a = value(*expr.a, hint);
  // The left operand is kept where the right one may change the variable that it comes from.
  if (a.where == Where::held && a.local != kNoRegister && runtime() &&
      expr.b->kind == ExprKind::call) {
    const std::uint16_t copy = fresh(expr.at);
    emit({.code = Code::move, .a = copy, .b = a.held}, expr.at);
    a = held_value(a.type, copy);
  }
  const Value b = value(*expr.b, a.ok() && a.type->is(TypeKind::enumeration) ? a.type : hint);
  return combined(expr.op, a, b, expr.at);
}

Value Evaluator::combined(Operator op, Value a, Value b, Position at) {
  if (!a.ok() || !b.ok()) return {};
  if (a.type->is(TypeKind::type) && b.type->is(TypeKind::type) && is_comparison(op)) {
    return known(types_.boolean, (a.meant == b.meant) == (op == Operator::equal) ? 1 : 0);
  }
  if (a.type->is(TypeKind::string) && b.type->is(TypeKind::string) && is_comparison(op)) {
    return known(types_.boolean, (*a.words == *b.words) == (op == Operator::equal) ? 1 : 0);
  }
  // One type for both. Shifts take any integer on the right.
  if (is_shift(op)) {
    if (!a.type->is_integer() || !b.type->is_integer()) return wrong(at, "shifts need integers");
    if (a.known() && a.type->is(TypeKind::comptime_integer) && !b.known()) {
      a = coerced(a, b.type, at);
    }
  } else if (a.type != b.type) {
    const bool a_real = a.type->is(TypeKind::real) || a.type->is(TypeKind::comptime_real);
    const bool b_real = b.type->is(TypeKind::real) || b.type->is(TypeKind::comptime_real);
    const bool a_free =
        a.type->is(TypeKind::comptime_integer) || a.type->is(TypeKind::comptime_real);
    const bool b_free =
        b.type->is(TypeKind::comptime_integer) || b.type->is(TypeKind::comptime_real);
    if (a_free && b_free) {
      a = coerced(a, a_real || b_real ? types_.comptime_real : types_.comptime_integer, at);
      b = coerced(b, a.type, at);
    } else if (a_free) {
      a = coerced(a, b.type, at);
    } else if (b_free) {
      b = coerced(b, a.type, at);
    } else if (a.type->is(TypeKind::integer) && b.type->is(TypeKind::integer)) {
      // The wider type, if it holds both; a known number only has to fit.
      if (a.known() && fits(a.integer, *b.type)) {
        a = coerced(a, b.type, at);
      } else if (b.known() && fits(b.integer, *a.type)) {
        b = coerced(b, a.type, at);
      } else if (bits_of(a.type->scalar) >= bits_of(b.type->scalar)) {
        b = coerced(b, a.type, at);
      } else {
        a = coerced(a, b.type, at);
      }
    } else if (a.type->is(TypeKind::pointer) && b.type->is(TypeKind::pointer)) {
      b.type = a.type;
    } else {
      return wrong(at,
                   "this operator needs two values of one type, here are " + a.type->name +
                       " and " + b.type->name,
                   a.type->is_number() && b.type->is_number() ? "Convert one with @as." : "");
    }
    if (!a.ok() || !b.ok()) return {};
  }
  const Type* type = a.type;
  const bool comparable = type->is_number() || type->is(TypeKind::boolean) ||
                          type->scalar == Scalar::u16 || type->is(TypeKind::enumeration) ||
                          type->is(TypeKind::direction);
  if (is_comparison(op) ? !comparable : !type->is_number()) {
    return wrong(at, "this operator does not work on " + type->name);
  }
  if (a.known() && b.known()) {
    if (type->is(TypeKind::comptime_real) || type->is(TypeKind::real)) {
      const double x = a.real, y = b.real;
      if (const auto holds = compared(op, x, y)) return known(types_.boolean, *holds ? 1 : 0);
      switch (op) {
        case Operator::add:
          return known_real(type, x + y);
        case Operator::subtract:
          return known_real(type, x - y);
        case Operator::multiply:
          return known_real(type, x * y);
        case Operator::divide:
          if (y == 0.0) return wrong(at, "division by zero");
          return known_real(type, x / y);
        default:
          return wrong(at, "this operator needs integers, here is " + type->name);
      }
    }
    const Wide x = a.integer, y = b.integer;
    if (const auto holds = compared(op, x, y)) return known(types_.boolean, *holds ? 1 : 0);
    if ((op == Operator::divide || op == Operator::remainder) && y == 0)
      return wrong(at, "division by zero");
    if (!type->is(TypeKind::comptime_integer)) {
      return known(type, computed(op, type->scalar, static_cast<std::int64_t>(x),
                                  static_cast<std::int64_t>(y)));
    }
    const Wide most = Wide{1} << 100;
    Wide result = 0;
    switch (op) {
      case Operator::add:
        result = x + y;
        break;
      case Operator::subtract:
        result = x - y;
        break;
      case Operator::multiply: {
        const bool small = x < (Wide{1} << 50) && x > -(Wide{1} << 50) && y < (Wide{1} << 50) &&
                           y > -(Wide{1} << 50);
        if (!small) return wrong(at, "this product needs more than 100 bits");
        result = x * y;
        break;
      }
      case Operator::divide:
        result = x / y;
        break;
      case Operator::remainder:
        result = x % y;
        break;
      case Operator::bit_and:
        result = x & y;
        break;
      case Operator::bit_or:
        result = x | y;
        break;
      case Operator::bit_xor:
        result = x ^ y;
        break;
      case Operator::shift_left:
      case Operator::shift_right:
        if (y < 0 || y > 64 || x > (Wide{1} << 36) || x < -(Wide{1} << 36)) {
          if (op == Operator::shift_right && y >= 0 && y < 100) {
            result = x >> static_cast<int>(y);
            break;
          }
          return wrong(at, "this shift needs more than 100 bits");
        }
        result = op == Operator::shift_left ? x * (Wide{1} << static_cast<int>(y))
                                            : x >> static_cast<int>(y);
        break;
      default:
        return wrong(at, "this operator does not work on integers");
    }
    if (result > most || result < -most) return wrong(at, "this number needs more than 100 bits");
    return known(type, result);
  }
  const Type* in_code = defaulted(type);
  const std::uint16_t x = in_register(a.known() ? coerced(a, in_code, at) : a, at);
  const std::uint16_t y = in_register(b.known() && !is_shift(op) ? coerced(b, in_code, at) : b, at);
  const std::uint16_t to = fresh(at);
  if (is_comparison(op)) {
    emit({.code = Code::compare, .op = op, .scalar = in_code->scalar, .a = to, .b = x, .c = y}, at);
    return held_value(types_.boolean, to);
  }
  emit({.code = Code::compute, .op = op, .scalar = in_code->scalar, .a = to, .b = x, .c = y}, at);
  return held_value(in_code, to);
}

}  // namespace tensorpress::csl
