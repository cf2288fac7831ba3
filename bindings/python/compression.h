// compress and decompress between Python's memory: no copy of a tensor is made.
#pragma once

#include <nanobind/nanobind.h>

namespace tensorpress::python {

void define_compression(nanobind::module_& module);

}  // namespace tensorpress::python
