// The HDF5 libraries of this process, which Python packages bring along.
#pragma once

#include <nanobind/nanobind.h>

namespace tensorpress::python {

void define_hdf5_libraries(nanobind::module_& module);

}  // namespace tensorpress::python
