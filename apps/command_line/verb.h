// A verb of the command line: `tensorpress NAME ...`. Adding one is a file NAME.cc that defines
// NAME_verb(), and its name in the list of main.cc. A verb puts library calls together; it has no
// logic of its own, prints results to stdout and returns errors instead of printing them:
//
//   struct Options { std::string file; bool json = false; };
//   Result<ExitStatus> run(const Options& options) { TRY(...); ...; return ExitStatus::fine; }
//   Action declare(CLI::App& app) {
//     auto options = std::make_shared<Options>();
//     app.add_option("FILE", options->file, "what to look at")->required();
//     app.add_flag("--json", options->json, "print one JSON object");
//     return [options] { return run(*options); };
//   }
//   Verb show_verb() { return {"show", "show a file", "  tensorpress show x.npy\n", declare}; }
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "tensorpress/result.h"

namespace tensorpress::cli {

enum class ExitStatus { fine = 0, check_failed = 1, bad_input = 2 };

/// What a verb does once its arguments have been parsed. An error becomes one line on stderr and
/// status 2.
using Action = std::function<Result<ExitStatus>()>;

struct Verb {
  const char* name;
  const char* summary;   // one line for `tensorpress --help`
  const char* examples;  // the end of `tensorpress NAME --help`: two or three lines, each indented
  Action (*declare)(CLI::App& app);  // adds the arguments; called once, before parsing
};

}  // namespace tensorpress::cli
