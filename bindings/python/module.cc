// The module tensorpress._core: what the Python files of the package call. Not for users, who find
// the same with defaults, checks and documentation one level up.
#include <nanobind/nanobind.h>

#include "base/cpu.h"
#include "block_codecs.h"
#include "compression.h"
#include "dropout.h"
#include "errors.h"
#include "hdf5_filter.h"
#include "hdf5_libraries.h"
#include "packing.h"
#include "reader.h"
#include "tensorpress/codec.h"
#include "tensorpress/version.h"
#include "window_indices.h"

namespace nb = nanobind;

namespace tensorpress::python {
namespace {

nb::str to_str(std::string_view text) {
  return nb::str(text.data(), text.size());
}

nb::list list_codecs() {
  nb::list all;
  for (const CodecInfo& codec : codecs()) {
    nb::dict fields, parameters;
    for (const ParameterInfo& parameter : codec.parameters) {
      if (parameter.from_data) continue;
      nb::dict about;
      about["default"] = to_str(parameter.default_value);
      about["choices"] = to_str(parameter.choices);
      about["help"] = to_str(parameter.help);
      parameters[to_str(parameter.name)] = about;
    }
    fields["name"] = to_str(codec.name);
    fields["summary"] = to_str(codec.summary);
    fields["error_bounded"] = codec.error_bounded;
    fields["parameters"] = parameters;
    all.append(fields);
  }
  return all;
}

nb::dict config() {
  nb::dict fields;
  fields["version"] = TENSORPRESS_VERSION_STRING;
  fields["format_version"] = kFormatVersion;
  fields["isa"] = to_str(name_of(value_or_raise(active_isa())));
  fields["detected_isa"] = to_str(name_of(detected_isa()));
#ifdef Py_LIMITED_API
  fields["stable_abi"] = true;
#else
  fields["stable_abi"] = false;
#endif
#ifdef NB_FREE_THREADED
  fields["free_threaded"] = true;
#else
  fields["free_threaded"] = false;
#endif
  return fields;
}

}  // namespace
}  // namespace tensorpress::python

NB_MODULE(_core, module) {
  // What is still alive when Python ends, such as a dataset in a worker, is no reason to print.
  nb::set_leak_warnings(false);
  module.attr("__version__") = TENSORPRESS_VERSION_STRING;
  module.def("codecs", &tensorpress::python::list_codecs);
  module.def("config", &tensorpress::python::config);
  tensorpress::python::define_errors(module);
  tensorpress::python::define_block_codecs(module);
  tensorpress::python::define_compression(module);
  tensorpress::python::define_dropout(module);
  tensorpress::python::define_hdf5_filter(module);
  tensorpress::python::define_hdf5_libraries(module);
  tensorpress::python::define_packing(module);
  tensorpress::python::define_reader(module);
  tensorpress::python::define_window_indices(module);
}
