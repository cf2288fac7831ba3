#include "command_line/help/usage.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/near_names.h"
#include "base/text.h"
#include "command_line/options/arguments.h"

namespace tensorpress::cli {
namespace {

enum class Kind { number, whole, count, word };

// CLI11 keeps an option's type as a word only.
Kind kind_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.starts_with("FLOAT")) return Kind::number;
  if (type.starts_with("UINT")) return Kind::count;
  return type.starts_with("INT") ? Kind::whole : Kind::word;
}

/// "a number", "3 numbers".
std::string wanted(Kind kind, int how_many = 1) {
  const char* const noun = kind == Kind::word     ? "value"
                           : kind == Kind::number ? "number"
                                                  : "whole number";
  return how_many == 1 ? text("a ", noun) : text(how_many, " ", noun, "s");
}

/// What is wrong with a value; "" if nothing is.
std::string complaint(const CLI::Option& option, const std::string& given) {
  const Kind kind = kind_of(option);
  const std::size_t equals =
      option.get_type_name() == kNumberOrNamed ? given.rfind('=') : std::string::npos;
  if (equals != std::string::npos && equals + 1 == given.size()) {
    return text(option.get_name(), " is ", given, ", which ends without a number");
  }
  const std::string value = equals == std::string::npos ? given : given.substr(equals + 1);
  if (value.empty()) {
    return text(option.get_name(), " is empty; give ", wanted(kind),
                option.get_required() ? "" : " or leave it out");
  }
  if (kind == Kind::word) return {};
  char* end = nullptr;
  bool too_large = false;
  errno = 0;
  if (kind == Kind::number) {
    const double number = std::strtod(value.c_str(), &end);
    // Subnormals set errno, too.
    too_large = errno == ERANGE && (number == 0 || std::isinf(number));
  } else if (kind == Kind::count) {
    std::strtoull(value.c_str(), &end, 0);
    too_large = errno == ERANGE;
  } else {
    std::strtoll(value.c_str(), &end, 0);
    too_large = errno == ERANGE;
  }
  const bool wraps = kind == Kind::count && value.find('-') != std::string::npos;
  if (*end == '\0' && wraps) return text(option.get_name(), " is ", given, ", which is negative");
  if (*end != '\0') return text(option.get_name(), " is ", given, ", not ", wanted(kind));
  if (!too_large) return {};
  return text(option.get_name(), " is ", given, ", beyond the range of ",
              kind == Kind::number ? "a double" : "64 bits");
}

const CLI::App& innermost(const CLI::App& program) {
  const CLI::App* verb = &program;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands().front();
  return *verb;
}

/// "run, heatmap, trace": the verbs of a verb.
std::string inner_verbs(const CLI::App& verb) {
  std::string names;
  for (const CLI::App* const inner : verb.get_subcommands([](const CLI::App*) { return true; })) {
    names += text(names.empty() ? "" : ", ", inner->get_name());
  }
  return names;
}

std::string no_option(const std::string& argument, const CLI::App& verb) {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> possible;
  for (const CLI::Option* const option : verb.get_options()) {
    for (const std::string& each : option->get_lnames()) possible.push_back("--" + each);
  }
  // CLI11 drops the -- and leaves what follows it.
  if (std::ranges::find(possible, name) != possible.end()) {
    return "what follows -- are files; options go before it";
  }
  std::error_code ignored;
  const bool file = std::filesystem::exists(argument, ignored);
  return text("there is no option ", name, did_you_mean(name, possible),
              file ? text("; the file is ./", argument) : "");
}

/// What is wrong with the first argument that no option takes; "" if there is none.
std::string left_over(const CLI::App& program) {
  const CLI::App& verb = innermost(program);
  const std::vector<std::string> arguments = program.remaining(true);
  for (const std::string& argument : arguments) {
    if (argument == "--") return "what follows -- are files; options go before it";
    if (argument.size() > 1 && argument.starts_with('-')) return no_option(argument, verb);
  }
  if (arguments.empty()) return {};
  const std::string verbs = inner_verbs(verb);
  if (verbs.empty()) return text("'", arguments.front(), "' is one argument too many");
  return text("'", arguments.front(), "' is not a verb of ", verb.get_name(), "; there are ",
              verbs);
}

/// Too few values or too many.
std::string wrong_count(const CLI::ParseError& error, const CLI::App& verb) {
  const std::string words = error.what(), name = words.substr(0, words.find(':'));
  const CLI::Option* const option = verb.get_option_no_throw(name);
  if (option == nullptr) return words;
  const auto given = static_cast<int>(option->results().size());
  const int most = option->get_items_expected_max();
  if (given > most && most > 1) {
    return text(name, " takes ", most, " values at most and is given ", given);
  }
  if (given > most) return text(name, " is given ", given > 2 * most ? "several times" : "twice");
  return text(name, " needs ", wanted(kind_of(*option), option->get_items_expected_min()));
}

/// "sgd,adam" -> "sgd or adam".
std::string alternatives(const std::string& list) {
  std::string words;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    words += text(words.empty()        ? ""
                  : end == list.size() ? " or "
                                       : ", ",
                  list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// A value outside a range or list: "--threads: Value 0 not in range 1 to 1024" and "--optimizer:
/// rms not in {sgd,adam}" are CLI11's words.
std::string not_allowed(const std::string& words) {
  constexpr std::string_view kColon = ": ", kValue = "Value ", kRange = " not in range ",
                             kList = " not in {";
  const std::size_t colon = words.find(kColon);
  const std::size_t range = words.rfind(kRange), list = words.rfind(kList);
  const bool in_range = range != std::string::npos;
  const std::size_t end = in_range ? range : list;
  if (colon == std::string::npos) return words;
  if (end == std::string::npos) {  // beyond the type of the list's numbers
    return text(words.substr(0, colon), " is ", words.substr(colon + 2), ", which is too large");
  }
  const std::size_t begin = colon + kColon.size() + (in_range ? kValue.size() : 0);
  const std::string value = words.substr(begin, end - begin);
  const std::string possible =
      in_range
          ? text("from ", words.substr(end + kRange.size()))
          : alternatives(words.substr(end + kList.size(), words.rfind('}') - (end + kList.size())));
  return text(words.substr(0, colon), " is ", value, "; it must be ", possible);
}

/// Two options that exclude each other: "--abs excludes --rel" are CLI11's words.
std::string only_one(const std::string& words) {
  constexpr std::string_view kExcludes = " excludes ";
  const std::size_t at = words.find(kExcludes);
  if (at == std::string::npos) return words;
  return text(words.substr(0, at), " and ", words.substr(at + kExcludes.size()),
              " exclude each other; leave one out");
}

}  // namespace

void check_values(CLI::App& verb) {
  for (CLI::Option* const option : verb.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    // Before the other checks, which would complain of "" in their own words.
    option->transform(CLI::Validator(
        [option](std::string& value) -> std::string {
          std::string wrong = complaint(*option, value);
          if (!wrong.empty()) throw CLI::ConversionError(std::move(wrong));
          return {};
        },
        ""));
  }
  for (CLI::App* const inner : verb.get_subcommands([](CLI::App*) { return true; })) {
    check_values(*inner);
  }
}

std::string sentence_of(const CLI::ParseError& error, const CLI::App& program) {
  const CLI::App& verb = innermost(program);
  const std::string words = error.what();
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError:
    case CLI::ExitCodes::ExtrasError:
      // A mistyped option is why something is missing.
      if (std::string wrong = left_over(program); !wrong.empty()) return wrong;
      if (&verb == &program) return "no verb is given";
      if (words.starts_with("A subcommand")) {
        return text(verb.get_name(), " needs a verb: ", inner_verbs(verb));
      }
      return words;
    case CLI::ExitCodes::ArgumentMismatch:
      return wrong_count(error, verb);
    case CLI::ExitCodes::ValidationError:
      return not_allowed(words);
    case CLI::ExitCodes::ExcludesError:
      return only_one(words);
    case CLI::ExitCodes::ConversionError: {
      // check_values leaves numbers that are too large for fewer than 64 bits.
      constexpr std::string_view kBegin = "Could not convert: ";
      const std::size_t equals = words.find(" = ");
      if (!words.starts_with(kBegin) || equals == std::string::npos) return words;
      return text(words.substr(kBegin.size(), equals - kBegin.size()), " is ",
                  words.substr(equals + 3), ", which is too large");
    }
    default:
      return words;
  }
}

std::string verbs_given(const CLI::App& program) {
  std::string names;
  for (const CLI::App* verb = &program; !verb->get_subcommands().empty();) {
    verb = verb->get_subcommands().front();
    names += text(names.empty() ? "" : " ", verb->get_name());
  }
  return names;
}

}  // namespace tensorpress::cli
