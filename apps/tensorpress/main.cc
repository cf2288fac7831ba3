// The tensorpress program: finds the verb, parses its arguments, runs it, and turns errors into one
// line on stderr. Status 0 fine, 1 a check failed, 2 bad usage or bad input.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "base/text.h"
#include "interruption.h"
#include "messages.h"
#include "tensorpress/version.h"
#include "verb.h"

namespace tensorpress::cli {

Verb bench_verb(), codebook_verb(), compress_verb(), decompress_verb(), demo_verb(), hdf5_verb(),
    info_verb(), reproduce_verb(), verify_verb();

namespace {

constexpr std::array kVerbs = {compress_verb, decompress_verb, info_verb,
                               verify_verb,   bench_verb,      codebook_verb,
                               hdf5_verb,     reproduce_verb,  demo_verb};

struct DeclaredVerb {
  CLI::App* app;
  Action action;
};

std::vector<DeclaredVerb> declare_verbs(CLI::App& program) {
  std::vector<DeclaredVerb> declared;
  for (const auto& make_verb : kVerbs) {
    const Verb verb = make_verb();
    CLI::App* const app = program.add_subcommand(verb.name, verb.summary)->group("Verbs");
    app->footer(text("Examples:\n", verb.examples));
    app->get_formatter()->column_width(36);
    declared.push_back({app, verb.declare(*app)});
  }
  return declared;
}

int bad_usage(std::string sentence, const std::string& verb) {
  if (sentence.size() > 1 && std::islower(static_cast<unsigned char>(sentence[1])) != 0) {
    sentence[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(sentence[0])));
  }
  print_message(text(sentence, "; see tensorpress ", verb, verb.empty() ? "" : " ", "--help"));
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

int run(int argc, const char* const* argv) {
  CLI::App program("Makes tensors smaller at the speed of memory, with a stated error.",
                   "tensorpress");
  program.set_version_flag("--version", "tensorpress " TENSORPRESS_VERSION_STRING);
  program.require_subcommand(1);
  program.get_formatter()->label("SUBCOMMAND", "VERB");
  program.footer(
      "`tensorpress VERB --help` explains a verb. `-` as a file is a pipe. Shapes are in NumPy\n"
      "order. Status: 0 fine, 1 a check failed, 2 bad usage or bad input.");
  const std::vector<DeclaredVerb> verbs = declare_verbs(program);

  if (argc < 2) return bad_usage("no verb is given", "");
  const bool known = std::any_of(verbs.begin(), verbs.end(), [&](const DeclaredVerb& verb) {
    return verb.app->get_name() == argv[1];
  });
  if (!known && argv[1][0] != '-') {
    return bad_usage(text("'", argv[1], "' is not a verb"), "");
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    program.exit(help_or_version);
    return flush_output(ExitStatus::fine);
  } catch (const CLI::ParseError& error) {
    const auto begun = program.get_subcommands();
    return bad_usage(error.what(), begun.empty() ? "" : begun.front()->get_name());
  }

  for (const DeclaredVerb& verb : verbs) {
    if (!verb.app->parsed()) continue;
    const Result<ExitStatus> result = verb.action();
    end_if_interrupted();
    if (!result.ok()) {
      print_message(result.error().message);
      return static_cast<int>(ExitStatus::bad_input);
    }
    return flush_output(*result);
  }
  return bad_usage("no verb is given", "");
}

}  // namespace
}  // namespace tensorpress::cli

int main(int argc, char** argv) {
  try {
    return tensorpress::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    tensorpress::cli::print_message(
        "out of memory; fewer --threads or a smaller --chunk-shape need less");
  } catch (const std::exception& error) {
    tensorpress::cli::print_message(tensorpress::text("internal error: ", error.what()));
  }
  return static_cast<int>(tensorpress::cli::ExitStatus::bad_input);
}
