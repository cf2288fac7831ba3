// A whole NetCDF or HDF5 file again, with our HDF5 filter on its floats and everything else as it
// was; and the way back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "files/rewriting/earlier_loss.h"
#include "files/rewriting/variable_bounds.h"
#include "stream/writer.h"
#include "tensorpress/codec.h"
#include "tensorpress/result.h"

namespace tensorpress::files {

/// Called now and then; an error ends the work and leaves no file.
using RewriteStep = std::function<Result<void>(std::uint64_t done, std::uint64_t total)>;

struct RewriteOptions {
  Codec codec;
  /// A relative bound is of the range of the whole variable, as in a .tpz.
  stream::BoundOptions bound = {};
  /// With rules, they decide about every variable, and `bound` has only what all share.
  VariableBounds per_variable = {};
  /// Only these; without any, all floats that are no coordinates.
  std::vector<std::string> variables = {};
  std::size_t threads = 1;
  RewriteStep progress = {};
  EarlierLoss earlier_loss = {};
  /// Goes before what the file's attribute `history` holds; "" leaves it as it is.
  std::string history_line = {};
};

enum class Treatment {
  as_it_was,     // not chosen
  compressed,    // by our filter
  exact,         // the bound is 0: shuffle and deflate
  kept_already,  // chosen, but the bound was kept before and leaves nothing to gain: copied
  not_smaller,   // chosen, but compressed it would have taken more room: copied
  restored,      // our filter is gone
};

struct RewrittenVariable {
  std::string path;
  std::string type = {};
  std::vector<std::uint64_t> extents = {};
  std::uint64_t bytes_in = 0;       // its elements
  std::uint64_t stored_before = 0;  // what they took in the old file
  std::uint64_t bytes_out = 0;      // what they take in the new file
  Treatment treatment = Treatment::as_it_was;
  std::string bound = {};    // what our filter keeps: "abs 0.01", or the codec without a bound
  std::string filters = {};  // of a variable that was restored: "shuffle deflate:4"
};

struct RewriteReport {
  std::vector<RewrittenVariable> variables;
  /// Nothing was lost and nothing could be saved: the output is the input, byte by byte.
  bool copied = false;
};

/// `output` appears when it is complete. The filter must be known to HDF5 (register_hdf5_filter).
Result<RewriteReport> rewrite_file(const std::string& input, const std::string& output,
                                   const RewriteOptions& options);

struct RestoreOptions {
  std::size_t threads = 1;
  RewriteStep progress = {};
  std::string history_line = {};
};

/// The way back: our filter is removed and variables are stored as they were before, where that is
/// known and possible, and with shuffle and deflate otherwise. What they lost stays in their
/// history.
Result<RewriteReport> restore_file(const std::string& input, const std::string& output,
                                   const RestoreOptions& options);

}  // namespace tensorpress::files
