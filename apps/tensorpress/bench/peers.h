// `tensorpress bench --peers`: our error-bounded codecs and those of others on the same fields.
#pragma once

#include <string>
#include <vector>

#include "command_line/reports/report.h"
#include "files/tensor/tensor_files.h"
#include "tensorpress/bound.h"

namespace tensorpress::cli {

struct PeersOptions {
  std::vector<std::string> files;
  std::optional<files::RawFormat> raw;  // of all files; else from their names
  std::string codecs;                   // "sz3,dense"; all when empty
  std::vector<Bound> bounds;
  std::vector<double> fill_values;
  int repetitions = 7;
  std::string plugin_path;
  std::string html;  // the page to write; none when empty
};

Result<Report> run_peers(const PeersOptions& options, Reporter& reporter);

}  // namespace tensorpress::cli
