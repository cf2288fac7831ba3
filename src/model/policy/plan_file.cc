#include "model/policy/plan_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/errors.h"
#include "base/json_text.h"
#include "base/near_names.h"
#include "files/bytes/text_files.h"
#include "model/text/source.h"

namespace tensorpress::model {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLargestPlan = std::uint64_t{64} << 20;

Result<std::string> word_in(const Json& rule, const char* key, const std::string& fallback) {
  if (!rule.contains(key)) return fallback;
  if (!rule[key].is_string()) return bad_argument("'", key, "' is not a word");
  return rule[key].get<std::string>();
}

Result<int> number_in(const Json& rule, const char* key, int fallback) {
  if (!rule.contains(key)) return fallback;
  if (!rule[key].is_number_integer()) return bad_argument("'", key, "' is not a whole number");
  // The parser holds whole numbers in 64 bits, with a sign where they have one.
  const Json& number = rule[key];
  const bool fits = number.is_number_unsigned() ? std::in_range<int>(number.get<std::uint64_t>())
                                                : std::in_range<int>(number.get<std::int64_t>());
  if (!fits) return bad_argument("'", key, "' is ", number.dump(), ", which is out of range");
  return number.get<int>();
}

/// A rule of this codec has no other entries.
Result<void> expect_only(const Json& rule, std::vector<std::string_view> known) {
  known.emplace_back("codec");
  for (const auto& [key, value] : rule.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return bad_argument("codec ", rule["codec"].get<std::string>(), " of emitted code has no '",
                        key, "'", did_you_mean(key, known));
  }
  return {};
}

Result<Storing> quantize_rule(const Json& rule) {
  RETURN_IF_ERROR(expect_only(rule, {"bits", "group", "rounding"}));
  Storing storing;
  storing.kind = Storing::Kind::quantize;
  TRY(storing.bits, number_in(rule, "bits", 4));
  TRY(const int group, number_in(rule, "group", 256));
  TRY(const std::string rounding, word_in(rule, "rounding", "nearest"));
  if (storing.bits < 1 || storing.bits > 8 || storing.bits == 7) {
    return bad_argument("'bits' is ", storing.bits, "; it must be 1, 2, 3, 4, 5, 6 or 8");
  }
  if (group != 256) return bad_argument("'group' is ", group, "; emitted code has groups of 256");
  if (rounding != "nearest" && rounding != "stochastic") {
    return bad_argument("'rounding' is ", rounding, "; it must be nearest or stochastic");
  }
  storing.stochastic = rounding == "stochastic";
  return storing;
}

constexpr std::array<const char*, 5> kBounds = {"relative", "absolute", "pointwise_relative",
                                                "psnr", "ratio"};

Result<Storing> bounded_rule(const Json& rule, const std::string& codec) {
  RETURN_IF_ERROR(expect_only(rule, {kBounds.begin(), kBounds.end()}));
  Storing storing;
  storing.kind = Storing::Kind::bounded;
  storing.codec = codec;
  for (const char* bound : kBounds) {
    if (!rule.contains(bound)) continue;
    if (!storing.bound.empty()) {
      return bad_argument("there is '", storing.bound, "' and '", bound, "'; one of them");
    }
    if (!rule[bound].is_number() || !(rule[bound].get<double>() > 0)) {
      return bad_argument("'", bound, "' is ", rule[bound].dump(), ", not a number above 0");
    }
    storing.bound = bound;
    storing.bound_value = rule[bound].get<double>();
  }
  if (storing.bound.empty()) {
    return bad_argument("codec ", codec, " needs a bound, such as \"relative\": 0.01");
  }
  return storing;
}

Result<Storing> rule_of(const Json& given) {
  const Json rule = given.is_string() ? Json{{"codec", given}} : given;
  if (!rule.is_object() || !rule.contains("codec") || !rule["codec"].is_string()) {
    return bad_argument("a rule is an object such as {\"codec\": \"quantize\", \"bits\": 4}");
  }
  const std::string codec = rule["codec"].get<std::string>();
  Storing storing;
  if (codec == "quantize") return quantize_rule(rule);
  if (codec == "keep" || codec == "rebuild" || codec == "recompute" || codec == "offload") {
    RETURN_IF_ERROR(expect_only(rule, {}));
    storing.kind = codec == "keep"      ? Storing::Kind::keep
                   : codec == "offload" ? Storing::Kind::offload
                                        : Storing::Kind::rebuild;
    return storing;
  }
  if (codec == "cast") {
    RETURN_IF_ERROR(expect_only(rule, {"to"}));
    storing.kind = Storing::Kind::cast;
    TRY(storing.type, word_in(rule, "to", "bf16"));
    if (storing.type != "bf16" && storing.type != "f16" && storing.type != "e4m3" &&
        storing.type != "e5m2") {
      return bad_argument("'to' is ", storing.type, "; it must be bf16, f16, e4m3 or e5m2");
    }
    return storing;
  }
  if (codec == "dct-chop") {
    RETURN_IF_ERROR(expect_only(rule, {"cf"}));
    storing.kind = Storing::Kind::chop;
    TRY(storing.chop_factor, number_in(rule, "cf", 4));
    if (storing.chop_factor < 1 || storing.chop_factor > 8) {
      return bad_argument("'cf' is ", storing.chop_factor, "; it must be 1 to 8");
    }
    return storing;
  }
  if (codec == "dense" || codec == "ceresz" || codec == "ceresz2") {
    return bounded_rule(rule, codec);
  }
  return bad_argument(
      "emitted code has no codec '", codec,
      "'; it has keep, rebuild, offload, quantize, cast, dct-chop, dense, ceresz and ceresz2");
}

}  // namespace

Result<Policy> parse_plan(const std::string& json, const std::string& model) {
  TRY(const Json object, parse_json_object<Json>(json));
  TRY(const int version, number_in(object, "tensorpress_plan", 1));
  if (version != 1) return bad_argument("tensorpress_plan is ", version, "; this version reads 1");
  for (const auto& [key, value] : object.items()) {
    static const std::vector<std::string_view> kKnown = {
        "tensorpress_plan", "model",   "level",      "min_bytes", "exact_2d_bytes",   "default",
        "by_type",          "by_name", "prediction", "batch",     "waiting_gradients"};
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
      return bad_argument("a plan has no entry '", key, "'", did_you_mean(key, kKnown));
    }
  }
  TRY(const std::string made_for, word_in(object, "model", model));
  if (made_for != model) {
    return bad_argument("it was made for model '", made_for, "', not for '", model, "'");
  }
  TRY(const std::string level, word_in(object, "level", "balanced"));
  TRY(Policy policy, named_policy(level));
  if (object.contains("default") && !object["default"].is_null()) {
    auto rule = rule_of(object["default"]);
    if (!rule.ok()) return bad_argument("default: ", rule.error().message);
    policy.fallback = policy.smooth = *rule;
    policy.compact = true;
  }
  for (const auto& [key, member] :
       {std::pair{"min_bytes", &policy.min_bytes}, {"exact_2d_bytes", &policy.exact_2d_bytes}}) {
    if (!object.contains(key)) continue;
    if (!object[key].is_number_unsigned() ||
        !std::in_range<std::int64_t>(object[key].get<std::uint64_t>())) {
      return bad_argument("'", key, "' is ", object[key].dump(), ", not a number of bytes");
    }
    *member = object[key].get<std::int64_t>();
  }
  TRY(policy.waiting_bits, number_in(object, "waiting_gradients", policy.waiting_bits));
  if (policy.waiting_bits != 0 && policy.waiting_bits != 8) {
    return bad_argument("'waiting_gradients' is ", policy.waiting_bits,
                        "; it is 8 (bits a value) or 0 (as they are)");
  }
  if (object.contains("by_type") && !object["by_type"].empty()) {
    return bad_argument("by_type is for classes of modules; name activations in by_name");
  }
  if (object.contains("by_name")) {
    if (!object["by_name"].is_object()) return bad_argument("by_name is not an object");
    for (const auto& [name, rule] : object["by_name"].items()) {
      auto storing = rule_of(rule);
      if (!storing.ok()) return bad_argument("by_name ", name, ": ", storing.error().message);
      policy.by_name[name] = std::move(storing).value();
      policy.compact = true;
    }
  }
  return policy;
}

Result<Policy> read_plan(const std::string& name_or_path, const std::string& model) {
  if (!name_or_path.ends_with(".json")) return named_policy(name_or_path);
  TRY(const std::string content, files::read_text(name_or_path, kLargestPlan, "a plan"));
  auto policy = parse_plan(content, model);
  if (!policy.ok()) return bad_argument("plan ", name_or_path, ": ", policy.error().message);
  policy->name = name_or_path.substr(name_or_path.find_last_of('/') + 1);
  return policy;
}

}  // namespace tensorpress::model
