// A verb of the command line: `tensorpress NAME ...`, which does something, or has verbs of its
// own: `tensorpress device check ...`. Adding one is a file that defines NAME_verb() and one line
// in the list of main.cc, or of the verb that it belongs to. A verb puts library calls together; it
// has no logic of its own and prints nothing: it returns its report, or an error:
//
//   struct Options { std::string file; };
//   Result<Report> run(const Options& options) { TRY(...); return Report{.text = ..., .json = ...};
//   } Action declare(Arguments& arguments) {
//     auto options = std::make_shared<Options>();
//     arguments.option("FILE", options->file, "what to look at").required();
//     return [options](Reporter&) { return run(*options); };
//   }
//   Verb show_verb() {
//     return {.name = "show", .summary = "show a file", .examples = "  tensorpress show x.npy\n",
//             .json = kOneObject, .declare = declare};
//   }
#pragma once

#include <functional>
#include <span>

#include "command_line/options/arguments.h"
#include "command_line/reports/report.h"

namespace tensorpress::cli {

/// What a verb does once its arguments have been parsed. An error becomes one line on stderr and
/// status 2.
using Action = std::function<Result<Report>(Reporter& reporter)>;

struct Verb;
using VerbMaker = Verb (*)();

struct Verb {
  const char* name;
  const char* summary;         // one line for `tensorpress --help`
  const char* examples = "";   // the end of --help: two or three lines, each indented; verbs of a
                               // verb have its examples
  const char* json = nullptr;  // what --json does, for --help; absent for verbs that have none
  Action (*declare)(Arguments& arguments) = nullptr;  // called once, before parsing
  std::span<const VerbMaker> verbs = {};              // instead of `declare`
};

/// What --json of most verbs does.
inline constexpr const char* kOneObject = "print one JSON object";

// A list of verbs is a macro with a line for each, as in main.cc: expanded by the first of these it
// declares their functions, by the second it names them.
#define TENSORPRESS_DECLARE_VERB(name) Verb name##_verb();
#define TENSORPRESS_LIST_VERB(name) name##_verb,

}  // namespace tensorpress::cli
