// The indices of max-pooling, exactly, in as few bits as a window has places: PyTorch saves an
// int64 for every output, which says where in the input's plane its maximum was. Relative to the
// window that is a number below kernel height times kernel width.
#pragma once

#include <nanobind/nanobind.h>

namespace tensorpress::python {

void define_window_indices(nanobind::module_& module);

}  // namespace tensorpress::python
