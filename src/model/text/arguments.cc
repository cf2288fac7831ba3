#include "model/text/arguments.h"

#include <cmath>
#include <limits>

#include "base/errors.h"
#include "base/near_names.h"

namespace tensorpress::model {
namespace {

bool is_number(const Attribute& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

double as_double(const Attribute& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? 0 : *real;
}

const char* kind_name(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer:
      return "a whole number";
    case AttributeKind::number:
      return "a finite number";
    case AttributeKind::limit:
      return "a number or infinity";
    case AttributeKind::flag:
      return "true or false";
    case AttributeKind::word:
      return "a word in quotes";
    case AttributeKind::integers:
      return "a whole number or a list of them";
    case AttributeKind::numbers:
      return "a list of numbers";
  }
  return "";
}

bool fits(AttributeKind kind, const Attribute& value) {
  switch (kind) {
    case AttributeKind::integer:
      return std::holds_alternative<std::int64_t>(value);
    case AttributeKind::number:
      return is_number(value) && std::isfinite(as_double(value));
    case AttributeKind::limit:
      return is_number(value);
    case AttributeKind::flag:
      return std::holds_alternative<bool>(value);
    case AttributeKind::word:
      return std::holds_alternative<std::string>(value);
    case AttributeKind::integers:
      return std::holds_alternative<std::int64_t>(value) ||
             std::holds_alternative<std::vector<std::int64_t>>(value);
    case AttributeKind::numbers:
      return std::holds_alternative<std::vector<std::int64_t>>(value) ||
             std::holds_alternative<std::vector<double>>(value);
  }
  return false;
}

Result<Attribute> calculate_whole(const std::string& sign, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  if (sign == "+") overflow = __builtin_add_overflow(a, b, &result);
  if (sign == "-") overflow = __builtin_sub_overflow(a, b, &result);
  if (sign == "*") overflow = __builtin_mul_overflow(a, b, &result);
  if (sign == "//" || sign == "%") {
    if (b == 0) return bad_argument(a, " ", sign, " 0 has no result");
    if (a < 0 || b < 0) {
      return bad_argument(a, " ", sign, " ", b, ": '", sign, "' takes no negative numbers");
    }
    result = sign == "%" ? a % b : a / b;
  }
  if (overflow) return bad_argument(a, " ", sign, " ", b, " does not fit in 64 bits");
  return Attribute(result);
}

}  // namespace

Result<Attributes> match_attributes(const Signature& signature, CallArguments& arguments) {
  const std::size_t count = arguments.tensors.size();
  if (count < signature.fewest_inputs || count > signature.most_inputs) {
    const std::string wanted = signature.fewest_inputs == signature.most_inputs
                                   ? text(signature.fewest_inputs)
                                   : text(signature.fewest_inputs, " to ", signature.most_inputs);
    return bad_argument(signature.name, " takes ", wanted,
                        signature.most_inputs == 1 ? " tensor" : " tensors", ", not ", count);
  }
  std::vector<Attribute> values(signature.attributes.size());
  std::vector<bool> given(signature.attributes.size(), false);
  std::size_t position = 0;
  for (const GivenAttribute& each : arguments.attributes) {
    arguments.wrong = each.place;
    std::size_t index = position;
    if (each.keyword.empty()) {
      ++position;
    } else {
      index = 0;
      while (index < values.size() && each.keyword != signature.attributes[index].name) ++index;
    }
    if (index >= values.size()) {
      std::vector<std::string_view> known;
      for (const AttributeSpec& spec : signature.attributes) known.emplace_back(spec.name);
      if (each.keyword.empty()) {
        return bad_argument(signature.name, " takes at most ", values.size(), " arguments here");
      }
      return bad_argument(signature.name, " has no argument '", each.keyword, "'",
                          did_you_mean(each.keyword, known));
    }
    const AttributeSpec& spec = signature.attributes[index];
    if (given[index]) return bad_argument("'", spec.name, "' is given twice");
    const bool none = std::holds_alternative<std::monostate>(each.value);
    if (!none && !fits(spec.kind, each.value)) {
      return bad_argument("'", spec.name, "' of ", signature.name, " is ", kind_name(spec.kind));
    }
    given[index] = !none;
    values[index] = each.value;
  }
  arguments.wrong = {};
  Attributes attributes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const AttributeSpec& spec = signature.attributes[i];
    if (!given[i] && spec.required) {
      return bad_argument(signature.name, " needs '", spec.name, "', ", kind_name(spec.kind));
    }
    attributes.set(spec.name, given[i] ? values[i] : spec.fallback);
  }
  return attributes;
}

Result<Attribute> calculate(const std::string& sign, const Attribute& a, const Attribute& b) {
  if (sign == "==")
    return Attribute(is_number(a) && is_number(b) ? as_double(a) == as_double(b) : a == b);
  if (sign == "!=")
    return Attribute(is_number(a) && is_number(b) ? as_double(a) != as_double(b) : a != b);
  if (sign == "and" || sign == "or") {
    const bool* first = std::get_if<bool>(&a);
    const bool* second = std::get_if<bool>(&b);
    if (first == nullptr || second == nullptr) {
      return bad_argument("'", sign, "' takes true or false on both sides");
    }
    return Attribute(sign == "and" ? *first && *second : *first || *second);
  }
  if (!is_number(a) || !is_number(b)) return bad_argument("'", sign, "' takes numbers");
  if (sign == "<") return Attribute(as_double(a) < as_double(b));
  if (sign == ">") return Attribute(as_double(a) > as_double(b));
  if (sign == "<=") return Attribute(as_double(a) <= as_double(b));
  if (sign == ">=") return Attribute(as_double(a) >= as_double(b));
  const auto* first = std::get_if<std::int64_t>(&a);
  const auto* second = std::get_if<std::int64_t>(&b);
  if (first != nullptr && second != nullptr && sign != "/") {
    return calculate_whole(sign, *first, *second);
  }
  double result = std::numeric_limits<double>::quiet_NaN();
  if (sign == "+") result = as_double(a) + as_double(b);
  if (sign == "-") result = as_double(a) - as_double(b);
  if (sign == "*") result = as_double(a) * as_double(b);
  if (sign == "/") result = as_double(a) / as_double(b);
  if (!std::isfinite(result)) return bad_argument("'", sign, "' has no finite result here");
  return Attribute(result);
}

Result<Attribute> calculate_unary(bool negation, const Attribute& a) {
  if (negation) {
    const bool* truth = std::get_if<bool>(&a);
    if (truth == nullptr) return bad_argument("'not' takes true or false");
    return Attribute(!*truth);
  }
  if (const auto* whole = std::get_if<std::int64_t>(&a)) {
    return calculate_whole("-", 0, *whole);
  }
  if (const auto* real = std::get_if<double>(&a)) return Attribute(-*real);
  return bad_argument("'-' takes a number");
}

}  // namespace tensorpress::model
