// --codec dct-chop with its parameters: what `device check` and `device time` share.
#pragma once

#include <cstdint>
#include <string>

#include "command_line/options/arguments.h"
#include "devices/programs/chop_program.h"

namespace tensorpress::cli {

struct ChopOptions {
  std::string codec = "dct-chop";
  std::string shape = "100x3x256x256";
  std::uint64_t cf = 4;
  std::string layout = "square";
  std::uint64_t serialize = 1;
  bool decompress = false;

  void declare(Arguments& arguments);
  Result<devices::ChopTask> task() const;
};

}  // namespace tensorpress::cli
