// Attributes of HDF5 objects copied from one file to another, references to objects among them:
// HDF5 itself sets those to nothing when it copies. The forms that dimension scales use (and so
// netCDF-4) are translated by the names of what they point to. Included only where HDF5's header
// is.
#pragma once

#include <string>
#include <vector>

#include "files/conventions/netcdf_notes.h"
#include "files/hdf5/library.h"

namespace tensorpress::files {

class Hdf5AttributeCopy {
 public:
  /// Both files stay open meanwhile.
  Hdf5AttributeCopy(const Hdf5Functions& hdf5, hid_t from_file, hid_t to_file)
      : hdf5_(hdf5), from_file_(from_file), to_file_(to_file) {}

  /// All but references.
  Result<void> copy_plain(hid_t from, hid_t to) const;
  /// The same without those of our own (files/rewriting/provenance.h), and `own` in their place.
  Result<void> copy_plain(hid_t from, hid_t to, const std::vector<NetcdfAttribute>& own) const;
  /// The same with `line` before what the attribute `history` holds, where that is text.
  Result<void> copy_plain_with_history(hid_t from, hid_t to, const std::string& line) const;
  /// References, once what they point to is in the new file under the same name. What was copied in
  /// their place is replaced.
  Result<void> copy_references(hid_t from, hid_t to, const std::string& path) const;

 private:
  Result<void> put(hid_t to, const NetcdfAttribute& attribute) const;
  Result<bool> put_history(const Hdf5Id& attribute, const std::string& line, hid_t to) const;
  Result<void> put_text(hid_t to, const std::string& name, const std::string& value,
                        const Hdf5Id& type, const Hdf5Id& space) const;
  Result<void> copy_values(const Hdf5Id& attribute, const std::string& name, hid_t to) const;
  Result<void> translate(const Hdf5Id& attribute, const std::string& name, hid_t to) const;
  Result<hobj_ref_t> translated(const hobj_ref_t& reference) const;
  bool holds_references(hid_t type) const;

  const Hdf5Functions& hdf5_;
  hid_t from_file_;
  hid_t to_file_;
};

}  // namespace tensorpress::files
