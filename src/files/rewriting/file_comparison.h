// Two NetCDF or HDF5 files side by side: is one a copy of the other, but for values that our filter
// may have changed? Everything else must be the same bit for bit: types, shapes, dimensions,
// attributes, links and values of every type. Values are read a box at a time.
//
// Not compared: the attributes `history` and `tensorpress_...`, which say what was done to the
// copy, `_NCProperties`, which says who wrote it, HDF5's `REFERENCE_LIST` of those that use a
// dimension, which they say themselves, and how values are stored (chunks, filters).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/conventions/hdf5_filter_settings.h"
#include "stream/container/history.h"
#include "tensorpress/bound.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::files {

/// How far the values of a variable may be from those of the original.
struct Promise {
  /// False: they are equal bit for bit.
  bool lossy = false;
  /// Absent where a codec of a fixed rate made them.
  std::optional<Bound> bound = {};
  /// Come back bit for bit.
  std::vector<double> fill_values = {};
};

struct ComparedVariable {
  std::string path;
  std::string type = {};  // "float", "string", "compound", ...
  std::vector<std::uint64_t> extents = {};
  std::uint64_t bytes_in = 0;   // what it takes in the original; 0 when that is not known
  std::uint64_t bytes_out = 0;  // in the copy
  Promise promise = {};
  std::string asked = {};                     // the bound that a user gave, where the copy says it
  std::vector<std::string> differences = {};  // sentences
};

/// A variable of one of the files, and the sentence that says which.
ComparedVariable one_sided(std::string path, std::string which);

struct FileComparison {
  std::vector<ComparedVariable> variables = {};  // of both files
  /// Of what is no variable: attributes of groups, dimensions, links.
  std::vector<std::string> differences = {};
};

struct FileComparisonOptions {
  /// Only these and nothing else of the files; without any, everything.
  std::vector<std::string> variables = {};
  /// Told the boxes of variables whose promise is lossy, in native byte order.
  std::function<Result<void>(const ComparedVariable& variable, const TensorView& original,
                             const TensorView& copy)>
      measure = {};
  /// Called now and then; an error ends the work.
  std::function<Result<void>(std::uint64_t done, std::uint64_t total)> progress = {};
};

/// An error where a file cannot be read; whatever is different is in the result. The filter must be
/// known to HDF5 (register_hdf5_filter).
Result<FileComparison> compare_files(const std::string& original, const std::string& copy,
                                     const FileComparisonOptions& options);

/// "3 values differ, ...".
std::string values_differ(std::uint64_t count);

/// The attributes that are not compared.
bool may_differ(std::string_view attribute);

/// What a variable says about the lossy steps behind its values.
struct LossNotes {
  std::optional<Hdf5FilterSettings> filter = {};
  stream::History history = {};  // every step, that of the filter the last
};

/// Steps that the original has behind it already do not count.
Promise promise_of(const LossNotes& original, const LossNotes& copy);

}  // namespace tensorpress::files
