// Attributes of HDF5 objects copied from one file to another, references to objects among them:
// HDF5 itself sets those to nothing when it copies. The forms that dimension scales use (and so
// netCDF-4) are translated by the names of what they point to. Included only where HDF5's header
// is.
#pragma once

#include <string>

#include "files/hdf5_library.h"

namespace tensorpress::files {

class Hdf5AttributeCopy {
 public:
  /// Both files stay open meanwhile.
  Hdf5AttributeCopy(const Hdf5Functions& hdf5, hid_t from_file, hid_t to_file)
      : hdf5_(hdf5), from_file_(from_file), to_file_(to_file) {}

  /// All but references.
  Result<void> copy_plain(hid_t from, hid_t to) const;
  /// References, once what they point to is in the new file under the same name. What was copied in
  /// their place is replaced.
  Result<void> copy_references(hid_t from, hid_t to, const std::string& path) const;

 private:
  Result<void> copy_values(const Hdf5Id& attribute, const std::string& name, hid_t to) const;
  Result<void> translate(const Hdf5Id& attribute, const std::string& name, hid_t to) const;
  Result<hobj_ref_t> translated(const hobj_ref_t& reference) const;
  bool holds_references(hid_t type) const;

  const Hdf5Functions& hdf5_;
  hid_t from_file_;
  hid_t to_file_;
};

}  // namespace tensorpress::files
