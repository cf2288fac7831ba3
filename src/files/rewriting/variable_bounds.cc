#include "files/rewriting/variable_bounds.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::files {
namespace {

std::string without_slash(const std::string& name) {
  return name.starts_with('/') ? name.substr(1) : name;
}

/// 2: the name itself, 1: a pattern, 0: all others, -1: not this variable.
int rank_of(const VariableRule& rule, const std::string& path) {
  if (rule.pattern == path) return 2;
  if (rule.pattern == "*") return 0;
  return matches(rule.pattern, path) ? 1 : -1;
}

std::string listed_names(const NetcdfFile& file) {
  std::string names;
  for (const NetcdfVariable& variable : file.variables()) {
    names += text(names.empty() ? "" : ", ", variable.path);
  }
  return names;
}

bool is_data(const NetcdfVariable& variable, bool packed_numbers) {
  return variable.refusal.empty() && !variable.coordinate && !variable.extents.empty() &&
         (packed_numbers || !variable.packed);
}

/// Why a variable takes no bound; "" if it does.
std::string refusal_of(const NetcdfVariable& variable, bool packed_numbers) {
  if (variable.packed && !packed_numbers) {
    return "holds packed whole numbers, which the HDF5 filter does not take; leave it out and it "
           "is copied, or compress it to a .tpz";
  }
  if (variable.refusal.empty()) return {};
  return text(variable.refusal, "; leave it out and it is copied");
}

}  // namespace

bool matches(const std::string& pattern, const std::string& path) {
  return ::fnmatch(pattern.c_str(), path.c_str(), 0) == 0;
}

stream::BoundOptions VariableChoice::bound_beside(const stream::BoundOptions& all) const {
  stream::BoundOptions own = bound;
  own.fill_values.insert(own.fill_values.end(), all.fill_values.begin(), all.fill_values.end());
  own.whole_range = own.whole_range || all.whole_range;
  return own;
}

VariableRule VariableRule::with(std::string pattern, Bound bound, std::string origin) {
  VariableRule rule;
  rule.pattern = std::move(pattern);
  rule.choice.bound.bound = bound;
  rule.origin = std::move(origin);
  return rule;
}

Result<void> VariableBounds::add(VariableRule rule) {
  rule.pattern = without_slash(rule.pattern);
  if (rule.pattern.empty()) return bad_argument(rule.origin, ": a name or pattern is missing");
  const auto same = std::ranges::find(rules_, rule.pattern, &VariableRule::pattern);
  if (same != rules_.end()) {
    return bad_argument(rule.origin, ": '", rule.pattern, "' is named twice, also by ",
                        same->origin, "; keep one of them");
  }
  rules_.push_back(std::move(rule));
  return {};
}

Result<const VariableRule*> VariableBounds::rule_for(const std::string& path) const {
  const VariableRule* best = nullptr;
  int rank = -1;
  for (const VariableRule& rule : rules_) {
    const int own = rank_of(rule, path);
    if (own < 0 || own < rank) continue;
    if (own == rank && best != nullptr) {
      return bad_argument("variable '", path, "' is matched by '", best->pattern, "' (",
                          best->origin, ") and by '", rule.pattern, "' (", rule.origin,
                          "); name it itself, or make one of the patterns narrower");
    }
    best = &rule;
    rank = own;
  }
  return best;
}

Result<void> VariableBounds::check_use(const NetcdfFile& file, bool packed_numbers) const {
  for (const VariableRule& rule : rules_) {
    if (rule.pattern == "*") continue;  // there need not be any others
    bool matched = false, usable = !rule.choice.bound.bound;
    std::string refusal;
    for (const NetcdfVariable& variable : file.variables()) {
      const int rank = rank_of(rule, variable.path);
      if (rank < 0) continue;
      matched = true;
      const std::string reason = refusal_of(variable, packed_numbers);
      // One that is named itself may be a coordinate.
      usable = usable || (rank == 2 ? reason.empty() : is_data(variable, packed_numbers));
      if (refusal.empty() && !reason.empty()) {
        refusal = text("variable '", variable.path, "' ", reason);
      }
    }
    if (!matched) {
      return bad_argument(rule.origin, ": '", rule.pattern,
                          "' matches no variable; there are: ", listed_names(file));
    }
    if (!usable) {
      return unsupported(rule.origin, ": ",
                         refusal.empty() ? text("'", rule.pattern,
                                                "' matches coordinates and single values only, "
                                                "which a pattern leaves as they are; name one "
                                                "itself to compress it")
                                         : refusal);
    }
  }
  return {};
}

Result<std::vector<ChosenVariable>> VariableBounds::choose(const NetcdfFile& file,
                                                           const std::vector<std::string>& names,
                                                           bool packed_numbers) const {
  RETURN_IF_ERROR(check_use(file, packed_numbers));
  const bool all = names.empty() || std::ranges::find(names, "*") != names.end();
  std::vector<const NetcdfVariable*> asked;
  for (const std::string& name : names) {
    if (name == "*") continue;
    TRY(const auto* const variable, file.find(name));
    asked.push_back(variable);
  }
  std::vector<ChosenVariable> chosen;
  for (const NetcdfVariable& variable : file.variables()) {
    TRY(const VariableRule* const rule, rule_for(variable.path));
    const bool itself = std::ranges::find(asked, &variable) != asked.end();
    const bool bounded = rule != nullptr && rule->choice.bound.bound.has_value();
    if (itself && !bounded) {
      return bad_argument("variable '", variable.path, "' is asked for and has no bound; give it ",
                          "one, or leave it out");
    }
    if (!bounded || (!itself && !all)) continue;
    if (itself || rule->pattern == variable.path) {
      if (const std::string reason = refusal_of(variable, packed_numbers); !reason.empty()) {
        return unsupported(rule->origin, ": variable '", variable.path, "' ", reason);
      }
    } else if (!is_data(variable, packed_numbers)) {
      continue;
    }
    chosen.push_back({&variable, rule->choice});
  }
  return chosen;
}

}  // namespace tensorpress::files
