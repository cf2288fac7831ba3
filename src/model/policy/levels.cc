#include "model/policy/levels.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <cstdint>

#include "base/errors.h"

namespace tensorpress::model {
namespace {

template <class T>
Result<T> entry(const toml::table& table, const char* key) {
  if (const auto value = table[key].value<T>()) return *value;
  return bad_argument("levels.toml:", table.source().begin.line, ": '", key,
                      "' is missing or of another type");
}

Result<Storing> storing_in(const toml::node_view<const toml::node>& node, const char* what) {
  const toml::table* const table = node.as_table();
  if (table == nullptr) return bad_argument("levels.toml: '", what, "' is missing or no table");
  TRY(const auto bits, entry<std::int64_t>(*table, "bits"));
  TRY(const auto rounding, entry<std::string>(*table, "rounding"));
  return Storing{.kind = Storing::Kind::quantize,
                 .bits = static_cast<int>(bits),
                 .stochastic = rounding == "stochastic"};
}

Result<std::vector<Storing>> storings_in(const toml::table& root, const char* what) {
  const toml::array* const steps = root[what].as_array();
  if (steps == nullptr) return bad_argument("levels.toml: '", what, "' is missing");
  std::vector<Storing> found;
  for (const toml::node& step : *steps) {
    TRY(Storing storing, storing_in(toml::node_view<const toml::node>(step), what));
    found.push_back(std::move(storing));
  }
  return found;
}

Result<Policy> policy_in(const toml::table& root, const toml::table& level) {
  Policy policy;
  TRY(policy.name, entry<std::string>(level, "name"));
  TRY(policy.compact, entry<bool>(level, "exact_forms"));
  if (level.contains("linear")) {
    TRY(policy.fallback, storing_in(level["linear"], "linear"));
  }
  if (level.contains("smooth")) {
    TRY(policy.smooth, storing_in(level["smooth"], "smooth"));
  }
  TRY(const auto waiting, entry<std::int64_t>(level, "waiting_gradients"));
  policy.waiting_bits = static_cast<int>(waiting);
  TRY(policy.min_bytes, entry<std::int64_t>(root, "min_bytes"));
  TRY(policy.exact_2d_bytes, entry<std::int64_t>(root, "exact_2d_bytes"));
  return policy;
}

}  // namespace

Result<Levels> parse_levels(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text, std::string_view("levels.toml"));
  if (!parsed) {
    return bad_argument("levels.toml:", parsed.error().source().begin.line, ": ",
                        parsed.error().description());
  }
  const toml::table& root = parsed.table();
  Levels levels;
  TRY(levels.small_planes, storing_in(root["small_planes"], "small_planes"));
  TRY(levels.one_bit, storing_in(root["one_bit"], "one_bit"));
  TRY(levels.ladder, storings_in(root, "ladder"));
  TRY(levels.between, storings_in(root, "between"));
  const toml::array* const named = root["level"].as_array();
  if (named == nullptr) return bad_argument("levels.toml: 'level' is missing");
  for (const toml::node& level : *named) {
    if (!level.is_table()) return bad_argument("levels.toml: 'level' is no table");
    TRY(Policy policy, policy_in(root, *level.as_table()));
    levels.policies.push_back(std::move(policy));
  }
  return levels;
}

const Levels& levels() {
  static const Levels parsed = parse_levels(kLevelFiles.front().text).value();
  return parsed;
}

}  // namespace tensorpress::model
