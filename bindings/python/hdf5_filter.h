// The words that tell the HDF5 filter how to compress (docs/hdf5.md).
#pragma once

#include <nanobind/nanobind.h>

namespace tensorpress::python {

void define_hdf5_filter(nanobind::module_& module);

}  // namespace tensorpress::python
