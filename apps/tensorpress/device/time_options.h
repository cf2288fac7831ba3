// What `device time` takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chop_options.h"
#include "command_line/options/force_option.h"

namespace tensorpress::cli {

struct TimeOptions {
  std::vector<std::string> names;
  ChopOptions chop;
  std::uint64_t count = 1;
  double units = 0;
  double ratio = 10;
  double training_rate = 0;
  std::string sweep;
  int figure = 0;
  std::string page;
  ForceOption force;

  void declare(Arguments& arguments);
  bool sweeps() const { return figure != 0 || !sweep.empty(); }
  /// `arguments` know the options that were given.
  Result<void> check(const Arguments& arguments) const;
};

}  // namespace tensorpress::cli
