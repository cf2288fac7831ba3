// A whole NetCDF or HDF5 file beside its original: what `verify a.nc small.nc` and
// `compress a.nc -o small.nc --verify` do.
#pragma once

#include <string>
#include <vector>

#include "command_line/reports/batch.h"
#include "command_line/reports/json_output.h"
#include "tensorpress/result.h"

namespace tensorpress::cli {

/// Both exist and begin like NetCDF or HDF5 files.
bool are_array_files(const std::string& original, const std::string& copy);

struct FileVerification {
  Json fields;                       // ok, variables, differences
  std::string table;                 // the same for a person
  std::vector<std::string> reasons;  // a sentence for each breach
  bool ok() const { return reasons.empty(); }
};

/// `variables` by name; none, or "*", is everything in the files. Shows a progress bar.
Result<FileVerification> verify_files(const std::string& original, const std::string& copy,
                                      std::vector<std::string> variables);

/// Adds the breaches to what is said about the copy, and the status that follows from them.
void add_breaches(const FileVerification& verification, const std::string& copy,
                  FileReport& report);

/// The table, the same as JSON, and the breaches.
FileReport report_of(const FileVerification& verification, const std::string& copy);

}  // namespace tensorpress::cli
