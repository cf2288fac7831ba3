// Whole NetCDF and HDF5 files: `compress` writes a copy with our filter on its data.
#pragma once

#include <string>

#include "files/rewrite.h"
#include "verb.h"

namespace tensorpress::cli {

struct RewriteRequest {
  std::string input;
  std::string output;
  files::RewriteOptions options;
  bool json = false;
};

/// Writes the copy and says what became of each variable.
Result<ExitStatus> rewrite_whole_file(RewriteRequest request);

}  // namespace tensorpress::cli
