// tensorpress device train: the cost of training one of the papers' networks, from its layer table.
#pragma once

#include <string>

#include "command_line/verb.h"
#include "devices/time/training_cost.h"

namespace tensorpress::cli {

struct TrainOptions {
  std::string network;
  std::string device = "ipu";
  double batch = 256;
  std::uint64_t cf = 4;
  bool uncompressed = false;
  devices::TrainingSetup setup;
  std::string stash = "fits";
  std::size_t count = 0;  // with --search
  bool search = false;
  bool json = false;

  void declare(CLI::App& app);
};

/// `app` knows the options that were given.
Result<ExitStatus> run_device_train(const CLI::App& app, const TrainOptions& options);

}  // namespace tensorpress::cli
