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
#include "interruption.h"
#include "likely_fill_details.h"
#include "stream/container/history.h"
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

/// What Python says about the values beside the codec and its bound.
struct AboutValues {
  std::vector<double> fill_values;
  std::optional<std::pair<double, double>> range;
  bool whole_range = false;
  std::optional<std::string> history;  // the steps that they have behind them
};

void add_history(const std::string& text, CompressOptions& options) {
  const stream::History history = value_or_raise(stream::parse_history(text));
  if (history.empty()) return;
  const auto error = stream::error_of(history);
  if (options.bound && !error) {
    raise(bad_argument("the history '", text,
                       "' does not say how much was lost in all, so no bound against the first "
                       "values can be kept; without it the bound counts from these values"));
  }
  if (options.bound) options.earlier_error = error;
  std::erase_if(options.attributes, [](const Attribute& attribute) {
    return attribute.name == stream::kHistoryAttribute;
  });
  options.attributes.push_back({std::string(stream::kHistoryAttribute), to_text(history)});
}

CompressOptions make_options(const std::optional<std::string>& bound, AboutValues values,
                             const std::optional<std::vector<std::uint64_t>>& chunk_shape,
                             const Pairs& attributes, std::size_t threads) {
  CompressOptions options;
  if (bound) options.bound = value_or_raise(Bound::parse(*bound));
  options.fill_values = std::move(values.fill_values);
  if (values.range) options.value_range = ValueRange{values.range->first, values.range->second};
  options.whole_range = values.whole_range;
  if (chunk_shape) options.chunk_shape = value_or_raise(Shape::make(*chunk_shape));
  for (const auto& [name, value] : attributes) options.attributes.push_back({name, value});
  options.threads = threads;
  if (values.history) add_history(*values.history, options);
  return options;
}

/// One array on its way to bytes.
struct Request {
  Codec codec;
  CompressOptions options;
  TensorView view;

  Result<std::uint64_t> run(std::span<std::byte> room) const {
    return interruptible(options.threads, [&](const Runner& runner) {
      CompressOptions complete = options;
      complete.runner = runner;
      return Compressor(codec, std::move(complete)).compress(view, room);
    });
  }
};

std::uint64_t run_or_raise(const Request& request, std::span<std::byte> room) {
  const Result<std::uint64_t> length = request.run(room);
  if (length.ok()) return *length;
  // What a codec does not support is an element type.
  if (length.error().code == ErrorCode::unsupported) raise_type_error(length.error().message);
  if (length.error().code == ErrorCode::likely_fill) {
    raise_likely_fill(length.error(), request.codec, request.options, request.view);
  }
  raise(length.error());
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
nb::object compress_to_bytes(const Request& request) {
  const std::uint64_t room =
      value_or_raise(Compressor(request.codec, request.options)
                         .bound_on_output_size(request.view.shape, request.view.dtype));
  if (room > PTRDIFF_MAX) throw std::bad_alloc();
  nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(room)));
  if (!bytes.is_valid()) nb::raise_python_error();
  auto* const memory = reinterpret_cast<std::byte*>(PyBytes_AsString(bytes.ptr()));
  prefer_huge_pages({memory, static_cast<std::size_t>(room)});
  const std::uint64_t length =
      run_or_raise(request, std::span(memory, static_cast<std::size_t>(room)));
  return cut(std::move(bytes), static_cast<Py_ssize_t>(length));
}

/// Bytes, or with `out` how many were written to it.
nb::object compress(nb::handle array, bool bits_of_bf16, const std::string& codec,
                    const Pairs& parameters, const std::optional<std::string>& bound,
                    std::vector<double> fill_values,
                    const std::optional<std::pair<double, double>>& value_range, bool whole_range,
                    const std::optional<std::string>& history,
                    const std::optional<std::vector<std::uint64_t>>& chunk_shape,
                    const Pairs& attributes, std::size_t threads, nb::handle out) {
  const ReadOnlyArray input = import_input(array);
  const Request request{
      make_codec(codec, parameters),
      make_options(bound, {std::move(fill_values), value_range, whole_range, history}, chunk_shape,
                   attributes, threads),
      view_of(input, bits_of_bf16)};
  if (out.is_none()) return compress_to_bytes(request);
  const HeldBuffer room(out, HeldBuffer::Access::write);
  refuse_overlap(request.view, room.bytes());
  return nb::int_(run_or_raise(request, room.writable_bytes()));
}

void decompress(nb::handle stream, nb::handle out, bool bits_of_bf16, std::size_t threads,
                std::uint64_t max_bytes) {
  const HeldBuffer held(stream, HeldBuffer::Access::read);
  const WritableArray output = import_output(out);
  const MutableTensorView view = view_of(output, bits_of_bf16);
  refuse_overlap(view, held.bytes());
  check(interruptible(threads, [&](const Runner& runner) {
    return Decompressor({.threads = threads, .runner = runner, .max_bytes = max_bytes})
        .decompress(held.bytes(), view);
  }));
}

}  // namespace

void define_compression(nb::module_& module) {
  module.def("check_codec", &check_codec, "name"_a, "parameters"_a, "bound"_a.none());
  module.def("compress", &compress, "array"_a, "bits_of_bf16"_a, "codec"_a, "parameters"_a,
             "bound"_a.none(), "fill_values"_a, "value_range"_a.none(), "whole_range"_a,
             "history"_a.none(), "chunk_shape"_a.none(), "attributes"_a, "threads"_a,
             "out"_a.none());
  module.def("decompress", &decompress, "stream"_a.none(), "out"_a, "bits_of_bf16"_a, "threads"_a,
             "max_bytes"_a);
}

}  // namespace tensorpress::python
