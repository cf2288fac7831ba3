// What both ways to rewrite a file share: which variables are compressed, with which values of the
// filter and in which chunks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "files/netcdf_file.h"
#include "files/rewrite.h"

namespace tensorpress::files {

struct PlannedVariable {
  std::vector<std::uint32_t> filter_values;
  std::string bound;
  std::vector<std::uint64_t> chunk_extents;
};

/// By path, only those that are compressed.
using RewritePlan = std::map<std::string, PlannedVariable>;

/// Looks at all values where a bound is relative.
Result<RewritePlan> plan_rewrite(NetcdfFile& file, const RewriteOptions& options);

/// Work that is told as it goes on.
class RewriteProgress {
 public:
  RewriteProgress(const RewriteOptions& options, std::uint64_t total)
      : options_(options), total_(total) {}
  Result<void> add(std::uint64_t bytes) {
    done_ += bytes;
    return options_.progress ? options_.progress(done_, total_) : Result<void>();
  }

 private:
  const RewriteOptions& options_;
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

/// The files of both kinds.
Result<void> rewrite_classic(const std::string& input, const std::string& output_place,
                             const RewritePlan& plan, RewriteProgress& progress);
Result<void> rewrite_hdf5(const std::string& input, const std::string& output_place,
                          const RewritePlan& plan, RewriteProgress& progress);

}  // namespace tensorpress::files
