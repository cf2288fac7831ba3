#include "hdf5_filter.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "errors.h"
#include "files/conventions/hdf5_filter_settings.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tensorpress::python {
namespace {

std::vector<std::uint32_t> hdf5_filter_words(
    const std::string& codec, const std::vector<std::pair<std::string, std::string>>& parameters,
    const std::optional<std::string>& bound, std::vector<double> fill_values,
    std::uint32_t threads) {
  std::vector<Parameter> given;
  for (const auto& [name, value] : parameters) given.push_back({name, value});
  files::Hdf5FilterSettings settings{.codec = value_or_raise(Codec::make(codec, given)),
                                     .fill_values = std::move(fill_values),
                                     .threads = threads};
  if (bound) settings.bound = value_or_raise(Bound::parse(*bound));
  return value_or_raise(settings.to_words());
}

}  // namespace

void define_hdf5_filter(nb::module_& module) {
  module.def("hdf5_filter_words", &hdf5_filter_words, "codec"_a, "parameters"_a, "bound"_a.none(),
             "fill_values"_a, "threads"_a);
}

}  // namespace tensorpress::python
