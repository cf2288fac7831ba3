#include "packing.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <vector>

#include "arrays.h"
#include "base/errors.h"
#include "errors.h"
#include "huge_pages.h"
#include "stream/chunks/chunk_work.h"
#include "tensorpress/pack.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tensorpress::python {
namespace {

// A thread is started for so many bytes of values, not for fewer: starting one takes as long as
// packing about a fifth of them.
constexpr std::size_t kBytesPerThread = std::size_t{1} << 20;
// Unpacked values get their signs while they are still in the cache.
constexpr std::size_t kPieceBytes = std::size_t{1} << 17;

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

/// Elements of one part when `count` of them are cut for at most `threads` threads.
std::size_t part_of(std::size_t count, std::size_t element_bytes, std::size_t granularity,
                    std::size_t threads) {
  const std::size_t worthwhile = std::max<std::size_t>(1, count * element_bytes / kBytesPerThread);
  const std::size_t parts = std::clamp<std::size_t>(threads, 1, worthwhile);
  if (granularity == 0 || parts == 1) return count;
  const std::size_t part = (count + parts - 1) / parts;
  return (part + granularity - 1) / granularity * granularity;
}

/// Calls work(first, count) for parts of `count` elements on several threads and gives the first
/// error. Without the GIL.
template <class Work>
Result<void> in_parts(std::size_t count, std::size_t part, const Work& work) {
  if (part >= count) return work(std::size_t{0}, count);
  const std::size_t parts = (count + part - 1) / part;
  std::vector<Result<void>> results(parts);
  stream::runner_or_threads({}, parts)(parts, [&](std::size_t number) {
    const std::size_t first = number * part;
    results[number] = work(first, std::min(part, count - first));
  });
  for (const Result<void>& result : results) {
    if (!result.ok()) return result;
  }
  return {};
}

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

/// Where the packed bytes of the elements from `first` on begin; first is a multiple of the
/// granularity.
template <class Options>
std::size_t packed_offset(std::size_t first, const Options& options) {
  return first == 0 ? 0 : packed_size(first, options).value();
}

QuantizeOptions from_element(QuantizeOptions options, std::size_t first) {
  options.first_element = first;
  return options;
}
template <class Options>
Options from_element(const Options& options, std::size_t /*first*/) {
  return options;
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
  const std::size_t size = size_of(dtype);
  const std::size_t count = from.size() / size;
  check_packed_size(count, options, to.size());
  refuse_overlap(values.view, to);
  std::atomic<bool> representable{true};
  const auto one_part = [&](std::size_t first, std::size_t part) -> Result<void> {
    const std::size_t begin = packed_offset(first, options);
    const std::size_t end =
        first + part == count ? to.size() : packed_offset(first + part, options);
    TRY(const PackOutcome outcome,
        pack(dtype, from.subspan(first * size, part * size), from_element(options, first),
             to.subspan(begin, end - begin)));
    if (outcome == PackOutcome::not_representable) representable = false;
    return {};
  };
  const auto done = [&] {
    const nb::gil_scoped_release released;
    return in_parts(count, part_of(count, size, granularity(options), threads), one_part);
  }();
  check(done);
  return representable;
}

/// With `signs` (empty: none) the values agree with them in the end.
template <class Options>
void unpack_tensor(const PackedInput& packed, const WritableValues& values, const Options& options,
                   std::span<const std::byte> signs, std::size_t threads) {
  const DType dtype = values.view.dtype;
  const auto from = packed.bytes();
  const auto to = values.bytes();
  const std::size_t size = size_of(dtype);
  const std::size_t count = to.size() / size;
  check_packed_size(count, options, from.size());
  refuse_overlap(values.view, from);
  if (!signs.empty()) check_packed_size(count, SignOptions{}, signs.size());
  const auto unpack_piece = [&](std::size_t first, std::size_t part, Stores stores) {
    const std::size_t begin = packed_offset(first, options);
    const std::size_t end =
        first + part == count ? from.size() : packed_offset(first + part, options);
    return unpack(dtype, from.subspan(begin, end - begin), options,
                  to.subspan(first * size, part * size), stores);
  };
  const std::size_t step = std::lcm(granularity(options), granularity(SignOptions{}));
  const auto one_part = [&](std::size_t first, std::size_t part) -> Result<void> {
    if (signs.empty()) return unpack_piece(first, part, Stores::automatic);
    const std::size_t pieces = std::max<std::size_t>(1, kPieceBytes / size / step);
    for (const std::size_t end = first + part; first < end;) {
      const std::size_t piece = std::min(pieces * step, end - first);
      RETURN_IF_ERROR(unpack_piece(first, piece, Stores::cached));
      RETURN_IF_ERROR(restore_signs(dtype, signs.subspan(first / 8, (piece + 7) / 8),
                                    to.subspan(first * size, piece * size)));
      first += piece;
    }
    return {};
  };
  const std::size_t cut = granularity(options) == 0 ? 0 : step;
  const auto done = [&] {
    const nb::gil_scoped_release released;
    prefer_huge_pages(to);
    return in_parts(count, part_of(count, size, cut, threads), one_part);
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
  const std::size_t size = size_of(to.view.dtype);
  const std::size_t count = bytes.size() / size;
  check_packed_size(count, SignOptions{}, bits.size());
  refuse_overlap(to.view, bits);
  const auto one_part = [&](std::size_t first, std::size_t part) {
    return restore_signs(to.view.dtype, bits.subspan(first / 8, (part + 7) / 8),
                         bytes.subspan(first * size, part * size));
  };
  const auto done = [&] {
    const nb::gil_scoped_release released;
    return in_parts(count, part_of(count, size, granularity(SignOptions{}), threads), one_part);
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
