// What `device check` and `device time` share, and `device time` itself.
#pragma once

#include <string>

#include "devices/chop_program.h"
#include "verb.h"

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

}  // namespace tensorpress::cli
