#include "compression.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "arrays.h"
#include "base/errors.h"
#include "errors.h"
#include "huge_pages.h"
#include "tensorpress/stream.h"

#ifdef Py_LIMITED_API
// Every CPython exports it, but the stable ABI does not promise it: where it is gone one day, this
// is null and bytes are copied.
extern "C" __attribute__((weak)) int _PyBytes_Resize(PyObject** bytes, Py_ssize_t size);  // NOLINT
#endif

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tensorpress::python {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Codec make_codec(const std::string& name, const Pairs& parameters) {
  std::vector<Parameter> given;
  for (const auto& [parameter, value] : parameters) given.push_back({parameter, value});
  return value_or_raise(Codec::make(name, given));
}

/// Names and values of all parameters that a user may give, checked and complete.
nb::dict check_codec(const std::string& name, const Pairs& parameters,
                     const std::optional<std::string>& bound) {
  const Codec codec = make_codec(name, parameters);
  if (bound) value_or_raise(Bound::parse(*bound));
  nb::dict complete;
  for (const CodecInfo& info : codecs()) {
    if (info.name != name) continue;
    for (const ParameterInfo& parameter : info.parameters) {
      const nb::str key(parameter.name.data(), parameter.name.size());
      if (!parameter.from_data) {
        const std::string_view value = codec.parameter(parameter.name);
        complete[key] = nb::str(value.data(), value.size());
      } else if (std::ranges::count(parameters, parameter.name, &Pairs::value_type::first) > 0) {
        raise(bad_argument("parameter '", parameter.name, "' of codec ", name,
                           " comes from the data; it cannot be given"));
      }
    }
  }
  return complete;
}

CompressOptions make_options(const std::optional<std::string>& bound,
                             std::vector<double> fill_values,
                             const std::optional<std::pair<double, double>>& value_range,
                             const std::optional<std::vector<std::uint64_t>>& chunk_shape,
                             const Pairs& attributes, std::size_t threads) {
  CompressOptions options;
  if (bound) options.bound = value_or_raise(Bound::parse(*bound));
  options.fill_values = std::move(fill_values);
  if (value_range) options.value_range = ValueRange{value_range->first, value_range->second};
  if (chunk_shape) options.chunk_shape = value_or_raise(Shape::make(*chunk_shape));
  for (const auto& [name, value] : attributes) options.attributes.push_back({name, value});
  options.threads = threads;
  return options;
}

Result<std::uint64_t> run(const Compressor& compressor, const TensorView& view,
                          std::span<std::byte> room) {
  const nb::gil_scoped_release released;
  return compressor.compress(view, room);
}

std::uint64_t length_or_raise(const Result<std::uint64_t>& length) {
  // What a codec does not support is an element type.
  if (!length.ok() && length.error().code == ErrorCode::unsupported) {
    raise_type_error(length.error().message);
  }
  return value_or_raise(length);
}

nb::object cut(nb::object bytes, Py_ssize_t length) {
#ifdef Py_LIMITED_API
  if (_PyBytes_Resize == nullptr) {
    nb::object copy = nb::steal(PyBytes_FromStringAndSize(PyBytes_AsString(bytes.ptr()), length));
    if (!copy.is_valid()) nb::raise_python_error();
    return copy;
  }
#endif
  PyObject* resized = bytes.release().ptr();
  if (_PyBytes_Resize(&resized, length) != 0) nb::raise_python_error();
  return nb::steal(resized);
}

// Python's bytes are made as large as a stream can become and cut to its length in the end. Pages
// that are never written to take no memory, and cutting moves nothing.
nb::object compress_to_bytes(const Compressor& compressor, const TensorView& view) {
  const std::uint64_t room =
      value_or_raise(compressor.bound_on_output_size(view.shape, view.dtype));
  if (room > PTRDIFF_MAX) throw std::bad_alloc();
  nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(room)));
  if (!bytes.is_valid()) nb::raise_python_error();
  auto* const memory = reinterpret_cast<std::byte*>(PyBytes_AsString(bytes.ptr()));
  prefer_huge_pages({memory, static_cast<std::size_t>(room)});
  const std::uint64_t length =
      length_or_raise(run(compressor, view, std::span(memory, static_cast<std::size_t>(room))));
  return cut(std::move(bytes), static_cast<Py_ssize_t>(length));
}

/// Bytes, or with `out` how many were written to it.
nb::object compress(nb::handle array, bool bits_of_bf16, const std::string& codec,
                    const Pairs& parameters, const std::optional<std::string>& bound,
                    std::vector<double> fill_values,
                    const std::optional<std::pair<double, double>>& value_range,
                    const std::optional<std::vector<std::uint64_t>>& chunk_shape,
                    const Pairs& attributes, std::size_t threads, nb::handle out) {
  const ReadOnlyArray input = import_input(array);
  const TensorView view = view_of(input, bits_of_bf16);
  const Compressor compressor(
      make_codec(codec, parameters),
      make_options(bound, std::move(fill_values), value_range, chunk_shape, attributes, threads));
  if (out.is_none()) return compress_to_bytes(compressor, view);
  const HeldBuffer room(out, HeldBuffer::Access::write);
  refuse_overlap(view, room.bytes());
  return nb::int_(length_or_raise(run(compressor, view, room.writable_bytes())));
}

void decompress(nb::handle stream, nb::handle out, bool bits_of_bf16, std::size_t threads,
                std::uint64_t max_bytes) {
  const HeldBuffer held(stream, HeldBuffer::Access::read);
  const WritableArray output = import_output(out);
  const MutableTensorView view = view_of(output, bits_of_bf16);
  refuse_overlap(view, held.bytes());
  const Decompressor decompressor({.threads = threads, .max_bytes = max_bytes});
  const auto done = [&] {
    const nb::gil_scoped_release released;
    return decompressor.decompress(held.bytes(), view);
  }();
  check(done);
}

}  // namespace

void define_compression(nb::module_& module) {
  module.def("check_codec", &check_codec, "name"_a, "parameters"_a, "bound"_a.none());
  module.def("compress", &compress, "array"_a, "bits_of_bf16"_a, "codec"_a, "parameters"_a,
             "bound"_a.none(), "fill_values"_a, "value_range"_a.none(), "chunk_shape"_a.none(),
             "attributes"_a, "threads"_a, "out"_a.none());
  module.def("decompress", &decompress, "stream"_a.none(), "out"_a, "bits_of_bf16"_a, "threads"_a,
             "max_bytes"_a);
}

}  // namespace tensorpress::python
