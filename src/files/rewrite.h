// A whole NetCDF or HDF5 file again, with our HDF5 filter on its floats and everything else as it
// was.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "files/variable_bounds.h"
#include "stream/writer.h"
#include "tensorpress/codec.h"
#include "tensorpress/result.h"

namespace tensorpress::files {

struct RewriteOptions {
  Codec codec;
  /// A relative bound is of the range of the whole variable, as in a .tpz.
  stream::BoundOptions bound = {};
  /// With rules, they decide about every variable, and `bound` has only what all share.
  VariableBounds per_variable = {};
  /// Only these; without any, all floats that are no coordinates.
  std::vector<std::string> variables = {};
  std::size_t threads = 1;
  /// Called now and then; an error ends the work and leaves no file.
  std::function<Result<void>(std::uint64_t done, std::uint64_t total)> progress = {};
};

struct RewrittenVariable {
  std::string path;
  std::string type = {};
  std::vector<std::uint64_t> extents = {};
  std::uint64_t bytes_in = 0;   // its elements
  std::uint64_t bytes_out = 0;  // in the new file
  std::string bound = {};       // "" where it was left as it is
};

/// `output` appears when it is complete. The filter must be known to HDF5 (register_hdf5_filter).
Result<std::vector<RewrittenVariable>> rewrite_file(const std::string& input,
                                                    const std::string& output,
                                                    const RewriteOptions& options);

}  // namespace tensorpress::files
