// What both ways to rewrite a file share: which variables are made anew, with which filters, in
// which chunks and with which attributes of ours.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "files/netcdf/file.h"
#include "files/rewriting/provenance.h"
#include "files/rewriting/rewrite.h"

namespace tensorpress::files {

struct PlannedVariable {
  Treatment treatment = Treatment::compressed;
  Storage storage = {};  // in the new file
  std::vector<std::uint64_t> chunk_extents = {};
  std::vector<NetcdfAttribute> attributes = {};  // in place of all of ours that it has
  std::string bound = {};
  /// What remains to be checked: whether it takes less room than before. If not it is copied.
  bool only_if_smaller = true;
};

struct RewritePlan {
  /// By path, those that are made anew.
  std::map<std::string, PlannedVariable> variables = {};
  /// Those that were chosen and are copied all the same.
  std::map<std::string, Treatment> copied = {};
  std::string history_line = {};
};

/// Looks at all values where a bound is relative.
Result<RewritePlan> plan_rewrite(NetcdfFile& file, const RewriteOptions& options);
/// Everything that has our filter.
Result<RewritePlan> plan_restoring(NetcdfFile& file, const RestoreOptions& options);

/// Shuffle and deflate, which is what most NetCDF files are written with.
Storage shuffled_and_deflated(std::uint32_t level = 4);

/// Work that is told as it goes on.
class RewriteProgress {
 public:
  RewriteProgress(const RewriteStep& step, std::uint64_t total) : step_(step), total_(total) {}
  Result<void> add(std::uint64_t bytes) {
    done_ += bytes;
    return step_ ? step_(done_, total_) : Result<void>();
  }

 private:
  const RewriteStep& step_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

/// Calls work(origin, extent) for boxes of at most `box` that cover `extents`, in C order.
Result<void> for_each_box(
    const std::vector<std::uint64_t>& extents, const std::vector<std::uint64_t>& box,
    const std::function<Result<void>(const std::vector<std::uint64_t>&,
                                     const std::vector<std::uint64_t>&)>& work);

/// Boxes of some four megabytes.
std::vector<std::uint64_t> boxes_for(std::vector<std::uint64_t> extents,
                                     std::uint64_t element_bytes);

/// The files of both kinds. In HDF5 files, what does not become smaller is moved from
/// plan.variables to plan.copied on the way.
Result<void> rewrite_classic(const std::string& input, const std::string& output_place,
                             const RewritePlan& plan, RewriteProgress& progress);
Result<void> rewrite_hdf5(const std::string& input, const std::string& output_place,
                          RewritePlan& plan, RewriteProgress& progress);

}  // namespace tensorpress::files
