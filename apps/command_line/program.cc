#include "command_line/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/near_names.h"
#include "base/text.h"
#include "command_line/help/manual.h"
#include "command_line/help/usage.h"
#include "command_line/inputs/history_line.h"
#include "command_line/interruption.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/printer.h"
#include "tensorpress/version.h"

namespace tensorpress::cli {
namespace {

struct DeclaredVerb {
  CLI::App* app;
  Action action = {};               // of a verb without verbs of its own
  std::shared_ptr<bool> json = {};  // whether --json was given; absent for verbs without it
  std::vector<DeclaredVerb> verbs = {};
};

std::vector<DeclaredVerb> declare_verbs(std::span<const VerbMaker> verbs, CLI::App& parent);

void declare_json(const char* help, DeclaredVerb& declared) {
  declared.json = std::make_shared<bool>(false);
  declared.app->add_flag("--json", *declared.json, help);
}

/// Its heading and its examples stand already: verbs of a verb take over what it has.
void declare_inside(const Verb& verb, DeclaredVerb& declared) {
  if (!verb.verbs.empty()) {
    declared.app->require_subcommand(1);
    declared.verbs = declare_verbs(verb.verbs, *declared.app);
    return;
  }
  Arguments arguments(*declared.app);
  declared.action = verb.declare(arguments);
  if (verb.json != nullptr) declare_json(verb.json, declared);
}

std::vector<DeclaredVerb> declare_verbs(std::span<const VerbMaker> verbs, CLI::App& parent) {
  const bool outermost = parent.get_parent() == nullptr;
  std::vector<DeclaredVerb> all;
  for (const VerbMaker make_verb : verbs) {
    const Verb verb = make_verb();
    DeclaredVerb declared{.app = parent.add_subcommand(verb.name, verb.summary)};
    if (outermost) {
      declared.app->group("Verbs");
      declared.app->footer(text("Examples:\n", verb.examples));
      declared.app->get_formatter()->column_width(36);
    }
    declare_inside(verb, declared);
    if (outermost) check_values(*declared.app);
    all.push_back(std::move(declared));
  }
  return all;
}

/// The verb that was given, or that of its verbs.
const DeclaredVerb* verb_given(const std::vector<DeclaredVerb>& verbs) {
  for (const DeclaredVerb& verb : verbs) {
    if (verb.app->parsed()) return verb.verbs.empty() ? &verb : verb_given(verb.verbs);
  }
  return nullptr;
}

int bad_usage(const Program& program, std::string sentence, const std::string& verb) {
  if (program.silent) return static_cast<int>(ExitStatus::bad_input);
  if (sentence.size() > 1 && std::islower(static_cast<unsigned char>(sentence[1])) != 0) {
    sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
  }
  print_message(
      text(sentence, "; see ", program.name, " ", verb, verb.empty() ? "" : " ", "--help"));
  return static_cast<int>(ExitStatus::bad_input);
}

/// Help and version go to stdout; a full disk behind it is an error as everywhere.
int flush_output(ExitStatus status) {
  std::cout.flush();
  if (!std::cout.good() || std::fflush(stdout) != 0) {
    print_message("cannot write to standard output");
    return static_cast<int>(ExitStatus::bad_input);
  }
  return static_cast<int>(status);
}

/// `help wafer run` is `wafer run --help`, and `version` is --version.
std::vector<std::string> with_verbs_for_flags(int argc, const char* const* argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return arguments;
  if (arguments.front() == "version" && arguments.size() == 1) return {"--version"};
  if (arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.push_back("--help");
  return arguments;
}

/// "--slice=", which CLI11 takes for "--slice" and the next word for its value; "" if there is
/// none.
std::string empty_option(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      return text(argument.substr(0, argument.size() - 1),
                  " is empty; give a value or leave it out");
    }
  }
  return {};
}

std::string no_verb(const std::string& word, const std::vector<DeclaredVerb>& verbs) {
  std::vector<std::string> possible = {"help", "version"};
  for (const DeclaredVerb& verb : verbs) possible.push_back(verb.app->get_name());
  return text("'", word, "' is not a verb", did_you_mean(word, possible));
}

int run_verb(const Program& program, const DeclaredVerb& verb) {
  Printer printer(verb.json && *verb.json ? Form::json : Form::text);
  SilentReporter silence;
  const Result<Report> result =
      verb.action(program.silent ? static_cast<Reporter&>(silence) : printer);
  if (result.ok() && !program.silent) printer.print(*result);
  end_if_interrupted();
  if (!result.ok()) {
    if (!program.silent) print_message(sentence_of(result.error()));
    return static_cast<int>(ExitStatus::bad_input);
  }
  return flush_output(result->status);
}

int parse_and_run(const Program& program, int argc, const char* const* argv) {
  CLI::App app(program.summary, program.name);
  app.set_version_flag("--version", text(program.name, " " TENSORPRESS_VERSION_STRING));
  app.require_subcommand(1);
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.footer(program.footer);
  const std::vector<DeclaredVerb> verbs = declare_verbs(program.verbs, app);

  if (argc < 2) return bad_usage(program, "no verb is given", "");
  // For the installation: made from the same declarations as --help.
  std::vector<std::string> arguments = with_verbs_for_flags(argc, argv);
  const std::string first = arguments.front();
  if (first == "--man" || first == "--completion-bash") {
    std::cout << (first == "--man" ? man_page(app, TENSORPRESS_VERSION_STRING)
                                   : bash_completion(app));
    return flush_output(ExitStatus::fine);
  }
  const bool known = std::any_of(verbs.begin(), verbs.end(), [&](const DeclaredVerb& verb) {
    return verb.app->get_name() == first;
  });
  if (!known && !first.starts_with('-')) return bad_usage(program, no_verb(first, verbs), "");
  if (std::string wrong = empty_option(arguments); !wrong.empty()) {
    return bad_usage(program, std::move(wrong), known ? first : "");
  }
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the end
    app.parse(arguments);
  } catch (const CLI::Success& help_or_version) {
    if (!program.silent) app.exit(help_or_version);
    return flush_output(ExitStatus::fine);
  } catch (const CLI::ParseError& error) {
    return bad_usage(program, sentence_of(error, app), verbs_given(app));
  }

  const DeclaredVerb* const verb = verb_given(verbs);
  if (verb == nullptr) return bad_usage(program, "no verb is given", "");
  return run_verb(program, *verb);
}

}  // namespace

int run_program(const Program& program, int argc, const char* const* argv) {
  // A write beyond `ulimit -f` is then an error with a sentence, and not the end without a word.
  std::signal(SIGXFSZ, SIG_IGN);
  remember_command(argc, argv);
  try {
    return parse_and_run(program, argc, argv);
  } catch (const std::bad_alloc&) {
    print_message("out of memory; fewer --threads or a smaller --chunk-shape need less");
  } catch (const std::exception& error) {
    print_message(text("internal error: ", error.what()));
  }
  return static_cast<int>(ExitStatus::bad_input);
}

}  // namespace tensorpress::cli
