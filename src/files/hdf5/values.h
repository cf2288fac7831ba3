// Elements of HDF5's types as text that is the same for equal values of two files: texts and rows
// of any length by what they hold, references by the names of what they lead to, compounds without
// the gaps between their members. Included only where HDF5's header is.
#pragma once

#include <string>
#include <vector>

#include "files/hdf5/library.h"

namespace tensorpress::files {

class Hdf5Elements {
 public:
  /// `type` as it comes from H5Dget_type or H5Aget_type, which is also how elements are read.
  static Result<Hdf5Elements> make(const Hdf5Functions& hdf5, hid_t type);

  std::size_t size() const { return size_; }
  /// Elements with equal bytes are equal, whichever file they are from.
  bool flat() const;
  /// `file` is the one that the element was read from.
  void append(const Hdf5Functions& hdf5, hid_t file, const std::byte* element,
              std::string& to) const;

 private:
  enum class Kind { bytes, text, row, compound, array, reference };
  struct Member;

  static Result<Hdf5Elements> make(const Hdf5Functions& hdf5, hid_t type, int depth);

  Kind kind_ = Kind::bytes;
  std::size_t size_ = 0;
  std::size_t count_ = 0;        // of an array's elements
  std::vector<Member> members_;  // of a compound; one for what rows and arrays consist of
};

struct Hdf5Elements::Member {
  std::size_t offset = 0;
  Hdf5Elements elements;
};

/// "float", "ushort", "string", "compound", ...
std::string hdf5_type_name(const Hdf5Functions& hdf5, hid_t type);

}  // namespace tensorpress::files
