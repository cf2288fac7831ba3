// A whole NetCDF or HDF5 file beside its original: what `verify a.nc small.nc` and
// `compress a.nc -o small.nc --verify` do.
#pragma once

#include <string>
#include <vector>

#include "json_output.h"
#include "verb.h"

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

/// Prints the breaches, one a line on stderr; the status that follows from them.
ExitStatus told_breaches(const FileVerification& verification, const std::string& copy);

/// Prints the table, or the JSON object, and the breaches.
ExitStatus report(const FileVerification& verification, const std::string& copy, bool json);

}  // namespace tensorpress::cli
