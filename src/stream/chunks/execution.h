// How the work of a call is carried out: on whose threads, how many pieces at once, with which
// instructions. Made once from a call's options, and handed to everything that it does.
#pragma once

#include <cstddef>

#include "base/cpu.h"
#include "base/runner.h"
#include "tensorpress/result.h"

namespace tensorpress::stream {

struct Execution {
  Runner runner;            // from runner_or_threads
  std::size_t threads = 1;  // how many pieces are worked on at once
  Isa isa;

  static Execution on(const Runner& runner, std::size_t threads, Isa isa) {
    return {runner_or_threads(runner, threads), threads, isa};
  }
  /// With the best instructions of this machine, unless TENSORPRESS_MAX_ISA says otherwise.
  static Result<Execution> on(const Runner& runner, std::size_t threads);
  /// As a call's options say.
  template <class Options>
  static Result<Execution> of(const Options& options) {
    return on(options.runner, options.threads);
  }
};

}  // namespace tensorpress::stream
