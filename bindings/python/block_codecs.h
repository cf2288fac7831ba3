// The blocks of ceresz and dct-chop in memory of the caller, without a container: what the kernels
// for other devices (python/tensorpress/torch/backends) write and are compared with.
#pragma once

#include <nanobind/nanobind.h>

namespace tensorpress::python {

void define_block_codecs(nanobind::module_& module);

}  // namespace tensorpress::python
