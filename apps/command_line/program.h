// A program of verbs: finds the verb, parses its arguments, runs it, and turns errors into one line
// on stderr. Status 0 fine, 1 a check failed, 2 bad usage or bad input.
#pragma once

#include <span>

#include "command_line/verb.h"

namespace tensorpress::cli {

struct Program {
  const char* name;
  const char* summary;
  const char* footer;
  std::span<const VerbMaker> verbs;
  /// Says nothing at all: of many processes that do the same, one speaks.
  bool silent = false;
};

/// What main returns.
int run_program(const Program& program, int argc, const char* const* argv);

}  // namespace tensorpress::cli
