#include "packing.h"

#include <nanobind/stl/string.h>

#include <span>

#include "arrays.h"
#include "base/errors.h"
#include "codecs/pack/parts.h"
#include "errors.h"
#include "huge_pages.h"
#include "tensorpress/pack.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tensorpress::python {
namespace {

struct Values {
  explicit Values(nb::handle object) : array(import_input(object)), view(view_of(array, false)) {}
  std::span<const std::byte> bytes() const {
    if (!view.is_contiguous()) {
      throw nb::value_error("values must be contiguous; pass values.contiguous()");
    }
    return {view.data, static_cast<std::size_t>(view.byte_count())};
  }
  ReadOnlyArray array;
  TensorView view;
};

struct WritableValues {
  explicit WritableValues(nb::handle object)
      : array(import_output(object)), view(view_of(array, false)) {}
  std::span<std::byte> bytes() const {
    if (!view.is_contiguous()) {
      throw nb::value_error("values must be contiguous; unpack into a new tensor and copy");
    }
    return {view.data, static_cast<std::size_t>(view.byte_count())};
  }
  WritableArray array;
  MutableTensorView view;
};

struct PackedInput : Values {
  explicit PackedInput(nb::handle object) : Values(object) {
    if (view.dtype != DType::u8) raise_type_error("packed bytes are a tensor of uint8");
  }
};

struct PackedOutput : WritableValues {
  explicit PackedOutput(nb::handle object) : WritableValues(object) {
    if (view.dtype != DType::u8) raise_type_error("packed bytes are a tensor of uint8");
  }
};

Rounding rounding_from(const std::string& name) {
  if (name == "nearest") return Rounding::nearest;
  if (name == "stochastic") return Rounding::stochastic;
  raise(bad_argument("rounding '", name, "' is not known; use nearest or stochastic"));
}

CastType cast_type_from(const std::string& name) {
  if (name == "f16") return CastType::f16;
  if (name == "bf16") return CastType::bf16;
  if (name == "e4m3") return CastType::e4m3;
  if (name == "e5m2") return CastType::e5m2;
  raise(bad_argument("'", name, "' is not a type to cast to; use f16, bf16, e4m3 or e5m2"));
}

template <class Options>
void check_packed_size(std::size_t count, const Options& options, std::size_t given) {
  const std::size_t expected = value_or_raise(packed_size(count, options));
  if (given != expected) {
    raise(bad_argument("the packed bytes are ", given, "; ", count, " values take ", expected));
  }
}

/// Whether the values can be represented; if not, what was written is of no use.
template <class Options>
bool pack_tensor(const Values& values, const PackedOutput& packed, const Options& options,
                 std::size_t threads) {
  const DType dtype = values.view.dtype;
  const auto from = values.bytes();
  const auto to = packed.bytes();
  check_packed_size(from.size() / size_of(dtype), options, to.size());
  refuse_overlap(values.view, to);
  const auto outcome = [&] {
    const nb::gil_scoped_release released;
    return pack_in_parts(dtype, from, options, to, threads);
  }();
  return value_or_raise(outcome) == PackOutcome::packed;
}

/// With `signs` (empty: none) the values agree with them in the end.
template <class Options>
void unpack_tensor(const PackedInput& packed, const WritableValues& values, const Options& options,
                   std::span<const std::byte> signs, std::size_t threads) {
  const DType dtype = values.view.dtype;
  const auto from = packed.bytes();
  const auto to = values.bytes();
  const std::size_t count = to.size() / size_of(dtype);
  check_packed_size(count, options, from.size());
  refuse_overlap(values.view, from);
  if (!signs.empty()) check_packed_size(count, SignOptions{}, signs.size());
  const auto done = [&] {
    const nb::gil_scoped_release released;
    prefer_huge_pages(to);
    return unpack_in_parts(dtype, from, options, signs, to, threads);
  }();
  check(done);
}

QuantizeOptions quantize_options(int bits, std::size_t group) {
  return {.bits = bits, .group = group};
}

std::size_t quantize_size(std::size_t count, int bits, std::size_t group) {
  return value_or_raise(packed_size(count, quantize_options(bits, group)));
}

bool quantize_pack(nb::handle values, nb::handle packed, int bits, std::size_t group,
                   const std::string& rounding, std::uint64_t seed, std::size_t threads) {
  QuantizeOptions options = quantize_options(bits, group);
  options.rounding = rounding_from(rounding);
  options.seed = seed;
  return pack_tensor(Values(values), PackedOutput(packed), options, threads);
}

void quantize_unpack(nb::handle packed, nb::handle values, int bits, std::size_t group,
                     nb::handle signs, std::size_t threads) {
  const QuantizeOptions options = quantize_options(bits, group);
  if (signs.is_none()) {
    unpack_tensor(PackedInput(packed), WritableValues(values), options, {}, threads);
  } else {
    const PackedInput held(signs);
    unpack_tensor(PackedInput(packed), WritableValues(values), options, held.bytes(), threads);
  }
}

std::size_t cast_size(std::size_t count, const std::string& to) {
  return value_or_raise(packed_size(count, CastOptions{cast_type_from(to)}));
}

bool cast_pack(nb::handle values, nb::handle packed, const std::string& to, std::size_t threads) {
  const CastOptions options{cast_type_from(to)};
  return pack_tensor(Values(values), PackedOutput(packed), options, threads);
}

void cast_unpack(nb::handle packed, nb::handle values, const std::string& to, std::size_t threads) {
  const CastOptions options{cast_type_from(to)};
  unpack_tensor(PackedInput(packed), WritableValues(values), options, {}, threads);
}

std::size_t mask_size(std::size_t count) {
  return value_or_raise(packed_size(count, MaskOptions{}));
}

bool mask_pack(nb::handle values, nb::handle packed) {
  return pack_tensor(Values(values), PackedOutput(packed), MaskOptions{}, 1);
}

void mask_unpack(nb::handle packed, nb::handle values) {
  unpack_tensor(PackedInput(packed), WritableValues(values), MaskOptions{}, {}, 1);
}

std::size_t sign_size(std::size_t count) {
  return value_or_raise(packed_size(count, SignOptions{}));
}

void sign_pack(nb::handle values, nb::handle packed, std::size_t threads) {
  pack_tensor(Values(values), PackedOutput(packed), SignOptions{}, threads);
}

void sign_unpack(nb::handle packed, nb::handle values, std::size_t threads) {
  unpack_tensor(PackedInput(packed), WritableValues(values), SignOptions{}, {}, threads);
}

/// Values are changed where they are.
void restore_tensor_signs(nb::handle signs, nb::handle values, std::size_t threads) {
  const PackedInput held(signs);
  const WritableValues to(values);
  const auto bits = held.bytes();
  const auto bytes = to.bytes();
  check_packed_size(bytes.size() / size_of(to.view.dtype), SignOptions{}, bits.size());
  refuse_overlap(to.view, bits);
  const auto done = [&] {
    const nb::gil_scoped_release released;
    return restore_signs_in_parts(to.view.dtype, bits, bytes, threads);
  }();
  check(done);
}

}  // namespace

void define_packing(nb::module_& module) {
  module.def("quantize_size", &quantize_size, "count"_a, "bits"_a, "group"_a);
  module.def("quantize_pack", &quantize_pack, "values"_a, "packed"_a, "bits"_a, "group"_a,
             "rounding"_a, "seed"_a, "threads"_a);
  module.def("quantize_unpack", &quantize_unpack, "packed"_a, "values"_a, "bits"_a, "group"_a,
             "signs"_a.none(), "threads"_a);
  module.def("cast_size", &cast_size, "count"_a, "to"_a);
  module.def("cast_pack", &cast_pack, "values"_a, "packed"_a, "to"_a, "threads"_a);
  module.def("cast_unpack", &cast_unpack, "packed"_a, "values"_a, "to"_a, "threads"_a);
  module.def("mask_size", &mask_size, "count"_a);
  module.def("mask_pack", &mask_pack, "values"_a, "packed"_a);
  module.def("mask_unpack", &mask_unpack, "packed"_a, "values"_a);
  module.def("sign_size", &sign_size, "count"_a);
  module.def("sign_pack", &sign_pack, "values"_a, "packed"_a, "threads"_a);
  module.def("restore_signs", &restore_tensor_signs, "signs"_a, "values"_a, "threads"_a);
  module.def("sign_unpack", &sign_unpack, "packed"_a, "values"_a, "threads"_a);
}

}  // namespace tensorpress::python
