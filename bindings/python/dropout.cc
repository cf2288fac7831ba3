#include "dropout.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>

#include "base/errors.h"
#include "errors.h"
#include "tensorpress/parallel.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tensorpress::python {
namespace {

template <class T>
using Values = nb::ndarray<T, nb::c_contig, nb::device::cpu, nb::ndim<1>>;

// Steele, Lea and Flood's SplitMix64: 64 bits that look random, from a number.
std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
  return number ^ (number >> 31);
}

/// Values `first` to `end` of a tensor; `first` is even. Each draw is for a pair of values.
template <class T>
void drop(T* values, std::size_t first, std::size_t end, std::uint64_t key, std::uint64_t limit,
          T scale) {
  // A look-up: the processor could not foresee a branch.
  const T factors[] = {T{0}, scale};
  const auto factor = [&](std::uint64_t draw) { return factors[draw < limit ? 1 : 0]; };
  std::size_t i = first;
  for (; i + 1 < end; i += 2) {
    const std::uint64_t draw = mixed(key + i / 2 * 0x9E3779B97F4A7C15u);
    values[i] *= factor(draw >> 32);
    values[i + 1] *= factor(draw & 0xFFFFFFFFu);
  }
  if (i < end) values[i] *= factor(mixed(key + i / 2 * 0x9E3779B97F4A7C15u) >> 32);
}

template <class T>
void dropout(const Values<T>& values, double keep, std::uint64_t seed, std::size_t threads) {
  if (!(keep > 0 && keep <= 1)) {
    raise(bad_argument("a share of ", keep, " cannot be kept; it must be above 0 and at most 1"));
  }
  const nb::gil_scoped_release released;
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  const std::size_t count = values.size();
  const std::uint64_t key = mixed(seed + 0x9E3779B97F4A7C15u);
  const auto limit = static_cast<std::uint64_t>(keep * 0x1p32 + 0.5);
  const auto scale = static_cast<T>(1 / keep);
  const auto piece = [&](std::size_t i) {
    drop(values.data(), i * kPiece, std::min(count, (i + 1) * kPiece), key, limit, scale);
  };
  thread_runner(std::max<std::size_t>(1, threads))((count + kPiece - 1) / kPiece, piece);
}

}  // namespace

void define_dropout(nb::module_& module) {
  module.def("dropout", &dropout<float>, "values"_a, "keep"_a, "seed"_a, "threads"_a);
  module.def("dropout", &dropout<double>, "values"_a, "keep"_a, "seed"_a, "threads"_a);
}

}  // namespace tensorpress::python
