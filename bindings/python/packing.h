// Values packed into fewer bits in memory of the caller: tensorpress/pack.h for tensors on the CPU,
// and the exact indices of max-pooling.
#pragma once

#include <nanobind/nanobind.h>

namespace tensorpress::python {

void define_packing(nanobind::module_& module);

}  // namespace tensorpress::python
