// Attributes of an HDF5 object by their names, each with its values as text that is the same for
// equal values of two files (values.h). Included only where HDF5's header is.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "files/hdf5/library.h"

namespace tensorpress::files {

struct Hdf5AttributeValue {
  Hdf5Id type;
  std::vector<hsize_t> extents = {};
  std::vector<std::string> values = {};
};

/// Without those that may differ between a file and its copy (file_comparison.h).
Result<std::map<std::string, Hdf5AttributeValue>> hdf5_attribute_table(const Hdf5Functions& hdf5,
                                                                       hid_t file, hid_t object);

/// The text of one attribute; "" where there is none.
std::string hdf5_text_attribute(const Hdf5Functions& hdf5, hid_t object, std::string_view name);

}  // namespace tensorpress::files
