// What `device check` and `device time` share, and `device time` itself.
#pragma once

#include <string>
#include <vector>

#include "command_line/options/force_option.h"
#include "command_line/verb.h"
#include "devices/programs/chop_program.h"

namespace tensorpress::cli {

/// --codec dct-chop with its parameters.
struct ChopOptions {
  std::string codec = "dct-chop";
  std::string shape = "100x3x256x256";
  std::uint64_t cf = 4;
  std::string layout = "square";
  std::uint64_t serialize = 1;
  bool decompress = false;

  void declare(CLI::App& app);
  Result<devices::ChopTask> task() const;
};

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
  bool json = false;

  void declare(CLI::App& app);
};

/// `app` is the parsed subcommand, which knows the options that were given.
Result<ExitStatus> run_device_time(const CLI::App& app, const TimeOptions& options);

}  // namespace tensorpress::cli
