// One dataset of an HDF5 file made anew in another, where HDF5's own copy would be wrong or would
// not have our filter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "files/hdf5/attributes.h"
#include "files/hdf5/library.h"
#include "files/hdf5/output.h"
#include "files/rewriting/rewrite_plan.h"
#include "tensorpress/aligned_buffer.h"

namespace tensorpress::files {

/// References in datasets would be copied as nothing: such a dataset is refused.
Result<void> check_copyable(const Hdf5Functions& hdf5, const Hdf5Id& dataset,
                            const std::string& path);

/// H5Ocopy copies a fill value of any length (netCDF-4 gives one to all strings) as its place in
/// the old file, and the copy cannot be opened.
Result<bool> has_fill_of_any_length(const Hdf5Functions& hdf5, const Hdf5Id& dataset,
                                    const std::string& path);

class Hdf5DatasetCopy {
 public:
  Hdf5DatasetCopy(const Hdf5Functions& hdf5, const Hdf5AttributeCopy& attributes,
                  const Hdf5Output& output, RewriteProgress& progress)
      : hdf5_(hdf5), attributes_(attributes), output_(output), progress_(progress) {}

  /// A dataset with its plain attributes and values; as planned, or else as it was. What it takes.
  Result<std::uint64_t> make(const Hdf5Id& from, const Hdf5Id& group, const std::string& name,
                             const std::string& path, PlannedVariable* planned);

 private:
  bool can_be_contiguous(const Hdf5Id& dataset) const;
  bool can_filter(const Storage& storage) const;
  Result<void> set_storage(const Hdf5Id& creation, const Hdf5Id& from, const std::string& path,
                           PlannedVariable& planned) const;
  Result<void> copy_values(const Hdf5Id& from, const Hdf5Id& to, const Hdf5Id& type,
                           const std::string& path, const PlannedVariable* planned);
  Result<void> copy_box(const Hdf5Id& from, const Hdf5Id& to, const Hdf5Id& type,
                        const std::string& path, const Hdf5Id& memory, const Hdf5Id& space,
                        std::uint64_t bytes);

  const Hdf5Functions& hdf5_;
  const Hdf5AttributeCopy& attributes_;
  const Hdf5Output& output_;
  RewriteProgress& progress_;
  AlignedBuffer buffer_;
};

}  // namespace tensorpress::files
