// One command for several files: each is worked on by itself, a failure of one does not end the
// rest, and a summary follows. One file alone is reported as ever.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "command_line/reports/json_output.h"
#include "command_line/reports/report.h"

namespace tensorpress::cli {

/// What became of one file.
struct FileReport {
  ExitStatus status = ExitStatus::fine;
  std::string lines = {};                 // for a person
  Json fields = {};                       // the same with --json
  std::vector<std::string> remarks = {};  // on stderr, behind the lines
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  Channel to = Channel::standard_output;
};

/// Several files have a heading each above their lines: what there is to say about one has many.
enum class Headings { none, names };

using FileWork = std::function<Result<FileReport>(const std::string& file)>;

/// Runs `work` on each file and reports on each as soon as it is done. An error of one of several
/// is told and counted, and the status is the worst.
Result<Report> work_on_files(const std::vector<std::string>& files, Reporter& reporter,
                             const FileWork& work, Headings headings = Headings::none);

}  // namespace tensorpress::cli
