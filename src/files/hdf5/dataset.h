// What an HDF5 dataset says about itself, for those who read, compare and rewrite files. Included
// only where HDF5's header is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "files/hdf5/library.h"
#include "files/netcdf/file.h"

namespace tensorpress::files {

struct Hdf5Space {
  std::vector<std::uint64_t> extents;
  std::vector<std::uint64_t> limits;  // what the extents may grow to
  bool empty = false;                 // no value at all
  friend bool operator==(const Hdf5Space&, const Hdf5Space&) = default;
};
Hdf5Space space_of(const Hdf5Functions& hdf5, const Hdf5Id& dataset);

/// Extents of its chunks; none when it has no chunks.
std::vector<std::uint64_t> chunk_of(const Hdf5Functions& hdf5, const Hdf5Id& dataset);

/// In the order in which they are applied.
std::vector<StoredFilter> filters_of(const Hdf5Functions& hdf5, const Hdf5Id& dataset);

/// Nothing but fill values, of which a file may declare more than can ever be read.
bool is_unwritten(const Hdf5Functions& hdf5, const Hdf5Id& dataset);

/// Floats of our codecs as they lie in a file.
struct Hdf5Floats {
  DType dtype = DType::f32;
  bool swapped = false;  // of the byte order that this machine does not have
};
/// Absent for other types, and for floats of other sizes.
std::optional<Hdf5Floats> floats_of(const Hdf5Functions& hdf5, const Hdf5Id& type);

}  // namespace tensorpress::files
