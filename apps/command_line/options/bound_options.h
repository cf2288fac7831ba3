// --abs, --rel, --pw-rel, --psnr, --ratio, --fill and --range: what an error-bounded codec is to
// keep; for files with several variables also --abs NAME=E and --bounds FILE.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "command_line/options/arguments.h"
#include "files/rewriting/variable_bounds.h"
#include "tensorpress/streaming.h"

namespace tensorpress::cli {

/// The heading of these options in the help text.
inline constexpr const char* kBoundGroup = "Error bound (codecs dense, ceresz and ceresz2)";

class BoundOptions {
 public:
  void declare(Arguments& arguments) { declare(arguments, Names::none); }
  /// With bounds for variables by name or pattern.
  void declare_per_variable(Arguments& arguments) { declare(arguments, Names::allowed); }

  /// Bound, fill values and range as given for one tensor; the error says what is allowed.
  Result<CompressOptions> options() const;
  /// The same for all variables, whose bounds may be in per_variable() instead.
  Result<CompressOptions> options_for_all() const;
  /// Empty where no bound names a variable. Otherwise a plain number is for all others.
  Result<files::VariableBounds> per_variable() const;
  bool given() const;
  /// A codec with an error bound needs one, and a codec of a fixed rate takes none.
  Result<void> check_for(const Codec& codec) const;

 private:
  enum class Names { none, allowed };
  /// What one flag was given, in the order of kFlags.
  using Words = std::vector<std::string>;

  void declare(Arguments& arguments, Names names);
  Result<std::optional<Bound>> plain() const;
  /// The first that names a variable: "--abs tas=0.01"; "" if none does.
  std::string first_named() const;

  std::array<Words, 4> bounds_;  // --abs, --rel, --pw-rel, --psnr
  std::optional<double> ratio_;
  std::vector<double> fills_;
  std::string range_;
  std::string file_;
  bool whole_range_ = false;
};

}  // namespace tensorpress::cli
