// One command for several files: each is worked on by itself, a failure of one does not end the
// rest, and a summary follows. One file alone is reported as ever.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "command_line/reports/json_output.h"
#include "command_line/verb.h"

namespace tensorpress::cli {

/// What became of one file.
struct FileReport {
  ExitStatus status = ExitStatus::fine;
  std::string lines = {};                 // for a person
  Json fields = {};                       // the same with --json
  std::vector<std::string> remarks = {};  // on stderr, behind the lines
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::FILE* to = stdout;  // stderr when stdout carries data
};

/// Several files have a heading each above their lines: what there is to say about one has many.
enum class Headings { none, names };

using FileWork = std::function<Result<FileReport>(const std::string& file)>;

/// Runs `work` on each file and prints what it reports. An error of one of several is printed and
/// counted, and the status is the worst.
Result<ExitStatus> work_on_files(const std::vector<std::string>& files, bool json,
                                 const FileWork& work, Headings headings = Headings::none);

}  // namespace tensorpress::cli
