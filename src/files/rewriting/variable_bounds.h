// A bound for each variable of a file: rules by name or pattern, from the command line or a file of
// bounds, and which of them holds for which variable.
//
// A pattern is a shell's (* ? [a-z]) on the whole path, and * takes slashes as well: "*_bnds" is
// also "ocean/lat_bnds". The exact name comes before patterns, and patterns before "*" alone, which
// is for all others. Two patterns of the same rank for one variable are an error.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/netcdf/file.h"
#include "stream/writer.h"
#include "tensorpress/codec.h"

namespace tensorpress::files {

/// What becomes of a variable.
struct VariableChoice {
  /// With a bound. Without one the variable stays as it is.
  stream::BoundOptions bound = {};
  /// Instead of the codec that all have.
  std::optional<Codec> codec = {};

  /// Its own bound, with the fill values that all have.
  stream::BoundOptions bound_beside(const stream::BoundOptions& all) const;
};

struct VariableRule {
  std::string pattern;
  VariableChoice choice = {};
  std::string origin = {};  // "--abs tas=0.01" or "bounds.toml:3", for messages

  static VariableRule with(std::string pattern, Bound bound, std::string origin);
};

struct ChosenVariable {
  const NetcdfVariable* variable;
  VariableChoice choice;
};

class VariableBounds {
 public:
  /// The error says that there is a rule for this name or pattern already.
  Result<void> add(VariableRule rule);
  bool empty() const { return rules_.empty(); }

  /// Those that have a bound, in the order of the file. Of what a pattern matches, only data takes
  /// a bound; a variable with a rule of its own must be able to. A rule that matches nothing is an
  /// error. Only `names`, if there are any ("*" is all); each of them needs a rule.
  Result<std::vector<ChosenVariable>> choose(const NetcdfFile& file,
                                             const std::vector<std::string>& names,
                                             bool packed_numbers) const;

 private:
  Result<const VariableRule*> rule_for(const std::string& path) const;
  Result<void> check_use(const NetcdfFile& file, bool packed_numbers) const;

  std::vector<VariableRule> rules_;
};

/// Whether a shell's pattern matches a whole path.
bool matches(const std::string& pattern, const std::string& path);

}  // namespace tensorpress::files
