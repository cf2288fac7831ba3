// What a verb takes, declared in our words: arguments.cc says it to CLI11, which parses and writes
// the help, and which no verb includes: its templates would cost every verb seconds to compile.
//
//   arguments.option("--cf", options->cf, "chop factor, 1 to 8 (4)").shown_as("N");
//   arguments.flag("--raw", options->raw, "write elements only");
//
// Targets must live until the verb is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tensorpress/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tensorpress::cli {

/// The type of an option that takes a number or NAME=NUMBER.
inline constexpr std::string_view kNumberOrNamed = "FLOAT or NAME=FLOAT";

/// One of them. Each call says more about it and returns it again.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  Argument& required();
  /// What stands for the value in --help: "FILE", "fast|best (best)".
  Argument& shown_as(const std::string& value);
  Argument& described_as(const std::string& help);
  /// The heading that it stands under in --help.
  Argument& group(const std::string& heading);
  /// Not in --help.
  Argument& hidden();
  /// The word for its type where it is not that of the target.
  Argument& type(std::string_view name);
  /// May be repeated, with one value each time.
  Argument& one_at_a_time();
  Argument& separated_by_commas();
  Argument& values(int least, int most);
  Argument& between(std::int64_t least, std::int64_t most);
  Argument& count_between(std::uint64_t least, std::uint64_t most);
  Argument& one_of(const std::vector<std::string>& words);
  Argument& one_of(const std::vector<int>& numbers);
  Argument& excludes(const Argument& other);

  /// How often it was given, and the words as they were; once they are parsed.
  std::size_t count() const;
  std::vector<std::string> words() const;

 private:
  CLI::Option* option_;
};

/// All of one verb. A copy is the same arguments.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(&app) {}

  /// `names` as "-o,--output", or "FILE" for what has no flag. Of text, numbers, and std::optional
  /// and std::vector of them; arguments.cc lists the types.
  template <class Value>
  Argument option(const std::string& names, Value& value, const std::string& help);
  Argument flag(const std::string& names, bool& value, const std::string& help);
  /// Calls `take` with the word that was given.
  Argument word(const std::string& names, std::function<void(const std::string&)> take,
                const std::string& help);
  /// For programs in which -h is something else.
  void help_only_as_long_option();

  bool has(const std::string& name) const;
  /// One that was declared.
  Argument find(const std::string& name) const;
  /// Whether it was given.
  bool given(const std::string& name) const;
  /// An option that would be ignored is a mistake: refuses any of `names` that was given, and says
  /// the reason.
  Result<void> refuse_ignored(std::initializer_list<const char*> names,
                              std::string_view reason) const;

 private:
  CLI::App* app_;
};

}  // namespace tensorpress::cli
