// A .tpz stream that stays where it is, in a file or a buffer, and gives out regions.
#pragma once

#include <nanobind/nanobind.h>

namespace tensorpress::python {

void define_reader(nanobind::module_& module);

}  // namespace tensorpress::python
