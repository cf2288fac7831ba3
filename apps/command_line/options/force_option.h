// -f, --force: an output that exists is replaced only when the user says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command_line/options/arguments.h"

namespace tensorpress::cli {

class ForceOption {
 public:
  /// `names` of programs that have another -f: "--force".
  void declare(Arguments& arguments, const std::string& names = "-f,--force");
  bool given() const { return force_; }

  /// Refuses an output that is one of the inputs under any name, and without --force a file that
  /// exists. `option` is how the output is named. Pipes, devices and "-" are written to as they
  /// are; "" is no output.
  Result<void> check(const std::vector<std::string>& inputs, const std::string& output,
                     std::string_view option = "-o") const;
  /// For tensors and streams: the same, and no binary data on a terminal.
  Result<void> check_data(const std::vector<std::string>& inputs, const std::string& output) const;

 private:
  bool force_ = false;
};

}  // namespace tensorpress::cli
