// What `tensorpress zfp` and `tensorpress sz3` have in common: programs that take raw fields, name
// their extents from the fastest axis on, and may compress and decompress in one go.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command_line/options/force_option.h"
#include "command_line/verb.h"
#include "files/tensor/tensor_files.h"
#include "tensorpress/bound.h"

namespace tensorpress::cli {

/// -i, -z, -o, -f, -d, -1 … -4 and -q mean the same in both.
class FieldFiles {
 public:
  void declare(Arguments& arguments);

  bool compresses() const { return !original.empty(); }
  /// Absent when neither type nor extents were given.
  Result<std::optional<files::RawFormat>> format() const;

  std::string original;    // raw; "": decompress
  std::string compressed;  // .tpz; "" when only the copy is wanted
  std::string copy;        // raw; "": compress only
  bool quiet = false;
  ForceOption force;

 private:
  bool f32_ = false;
  bool f64_ = false;
  std::vector<std::vector<std::uint64_t>> extents_ = std::vector<std::vector<std::uint64_t>>(4);
};

/// Compresses, decompresses or both. `bound` is needed to compress, and `ways_to_bound` says which
/// flags give one; `statistics` compares the copy with the original and reports what `verify`
/// reports.
Result<Report> run_field_tool(const FieldFiles& files, const std::optional<Bound>& bound,
                              const char* ways_to_bound, bool statistics, Reporter& reporter);

}  // namespace tensorpress::cli
