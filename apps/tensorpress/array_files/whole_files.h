// Whole NetCDF and HDF5 files: `compress` writes a copy with our filter on its data, `decompress`
// one without it.
#pragma once

#include <string>

#include "command_line/reports/batch.h"
#include "files/rewriting/rewrite.h"

namespace tensorpress::cli {

struct RewriteRequest {
  std::string input;
  std::string output;
  files::RewriteOptions options;
  bool verify = false;
};

/// Writes the copy, compares it with the input if that is wanted, and says what became of each
/// variable.
Result<FileReport> rewrite_whole_file(RewriteRequest request);

struct RestoreRequest {
  std::string input;
  std::string output;
  std::size_t threads = 1;
};

/// Writes the copy without our filter and says how each variable that had it is stored now.
Result<FileReport> restore_whole_file(const RestoreRequest& request);

}  // namespace tensorpress::cli
