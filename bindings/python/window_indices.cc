#include "window_indices.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/errors.h"
#include "errors.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tensorpress::python {
namespace {

using Indices = nb::ndarray<std::int64_t, nb::c_contig, nb::device::cpu, nb::ndim<3>>;
using ConstIndices = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu, nb::ndim<3>>;
using Bytes = nb::ndarray<std::uint8_t, nb::c_contig, nb::device::cpu, nb::ndim<1>>;
using ConstBytes = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu, nb::ndim<1>>;
using Pair = std::array<std::int64_t, 2>;  // along height and width

struct Windows {
  Pair extent, kernel, stride, padding, dilation;

  std::int64_t places() const { return kernel[0] * kernel[1]; }
  int bits() const { return places() <= 2 ? 1 : places() <= 4 ? 2 : places() <= 16 ? 4 : 8; }

  /// Which of the places along an axis a coordinate is, for the window at `output`.
  std::optional<std::int64_t> place(int axis, std::int64_t output, std::int64_t at) const {
    const std::int64_t from_begin = at - (output * stride[axis] - padding[axis]);
    const std::int64_t number = from_begin / dilation[axis];
    if (from_begin < 0 || number >= kernel[axis] || number * dilation[axis] != from_begin) {
      return std::nullopt;
    }
    return number;
  }
  std::int64_t coordinate(int axis, std::int64_t output, std::int64_t place) const {
    return output * stride[axis] - padding[axis] + place * dilation[axis];
  }
};

Windows checked(const Pair& extent, const Pair& kernel, const Pair& stride, const Pair& padding,
                const Pair& dilation) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const Pair* pair : {&extent, &kernel, &stride, &dilation}) {
    if (std::min((*pair)[0], (*pair)[1]) < 1 || std::max((*pair)[0], (*pair)[1]) > kMost) {
      raise(bad_argument("extents, kernel, stride and dilation of windows are 1 to 2^31 - 1"));
    }
  }
  if (std::min(padding[0], padding[1]) < 0 || std::max(padding[0], padding[1]) > kMost) {
    raise(bad_argument("the padding of windows is 0 to 2^31 - 1"));
  }
  const Windows windows{extent, kernel, stride, padding, dilation};
  if (windows.places() > 256) {
    raise(bad_argument("a window of ", kernel[0], " x ", kernel[1], " has more than 256 places"));
  }
  return windows;
}

std::size_t packed_bytes(std::size_t count, int bits) {
  return (count * static_cast<std::size_t>(bits) + 7) / 8;
}

std::size_t window_size(std::size_t count, const Pair& kernel) {
  const Windows windows = checked({1, 1}, kernel, {1, 1}, {0, 0}, {1, 1});
  return packed_bytes(count, windows.bits());
}

void check_sizes(std::size_t count, const Windows& windows, std::size_t packed) {
  const std::size_t expected = packed_bytes(count, windows.bits());
  if (packed != expected) {
    raise(bad_argument("the packed bytes are ", packed, "; ", count, " indices take ", expected));
  }
}

/// False if an index lies outside its window.
bool window_pack(const ConstIndices& indices, const Bytes& packed, const Pair& extent,
                 const Pair& kernel, const Pair& stride, const Pair& padding,
                 const Pair& dilation) {
  const Windows windows = checked(extent, kernel, stride, padding, dilation);
  check_sizes(indices.size(), windows, packed.size());
  const nb::gil_scoped_release released;
  const auto rows = static_cast<std::int64_t>(indices.shape(1));
  const auto columns = static_cast<std::int64_t>(indices.shape(2));
  const std::int64_t* index = indices.data();
  std::uint8_t* out = packed.data();
  const int bits = windows.bits();
  unsigned byte = 0;
  int filled = 0;
  for (std::size_t plane = 0; plane < indices.shape(0); ++plane) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column, ++index) {
        if (*index < 0 || *index >= extent[0] * extent[1]) return false;
        const auto down = windows.place(0, row, *index / extent[1]);
        const auto across = windows.place(1, column, *index % extent[1]);
        if (!down || !across) return false;
        byte |= static_cast<unsigned>(*down * kernel[1] + *across) << filled;
        filled += bits;
        if (filled == 8) {
          *out++ = static_cast<std::uint8_t>(byte);
          byte = 0;
          filled = 0;
        }
      }
    }
  }
  if (filled > 0) *out = static_cast<std::uint8_t>(byte);
  return true;
}

/// False if bytes do not say a place inside the plane; backward would write there.
bool window_unpack(const ConstBytes& packed, const Indices& indices, const Pair& extent,
                   const Pair& kernel, const Pair& stride, const Pair& padding,
                   const Pair& dilation) {
  const Windows windows = checked(extent, kernel, stride, padding, dilation);
  check_sizes(indices.size(), windows, packed.size());
  const nb::gil_scoped_release released;
  const auto rows = static_cast<std::int64_t>(indices.shape(1));
  const auto columns = static_cast<std::int64_t>(indices.shape(2));
  std::int64_t* index = indices.data();
  const int bits = windows.bits();
  const unsigned mask = (1u << bits) - 1;
  std::size_t at = 0;
  for (std::size_t plane = 0; plane < indices.shape(0); ++plane) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns;
           ++column, ++index, at += static_cast<unsigned>(bits)) {
        const std::int64_t place = (packed.data()[at / 8] >> (at % 8)) & mask;
        const std::int64_t y = windows.coordinate(0, row, place / kernel[1]);
        const std::int64_t x = windows.coordinate(1, column, place % kernel[1]);
        if (y < 0 || x < 0 || y >= extent[0] || x >= extent[1]) return false;
        *index = y * extent[1] + x;
      }
    }
  }
  return true;
}

}  // namespace

void define_window_indices(nb::module_& module) {
  module.def("window_size", &window_size, "count"_a, "kernel"_a);
  module.def("window_pack", &window_pack, "indices"_a, "packed"_a, "extent"_a, "kernel"_a,
             "stride"_a, "padding"_a, "dilation"_a);
  module.def("window_unpack", &window_unpack, "packed"_a, "indices"_a, "extent"_a, "kernel"_a,
             "stride"_a, "padding"_a, "dilation"_a);
}

}  // namespace tensorpress::python
