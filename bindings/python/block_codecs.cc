#include "block_codecs.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "base/cpu.h"
#include "base/errors.h"
#include "codecs/ceresz/ceresz.h"
#include "errors.h"
#include "kernels/block_transform/block_transform.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tensorpress::python {
namespace {

template <class T>
using Memory = nb::ndarray<T, nb::c_contig, nb::device::cpu, nb::ndim<1>>;

constexpr std::size_t kBlock = 32;

void check_bound(double bound) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  constexpr double kMost = std::numeric_limits<float>::max() / 16;
  if (!(bound >= kLeast && bound <= kMost)) {
    raise(bad_argument("the bound ", bound, " is not between ", kLeast, " and ", kMost));
  }
}

/// What `count` values take at most: a slack, a width a block, and all blocks uncompressed.
std::size_t ceresz_room(std::size_t count) {
  const std::size_t blocks = (count + kBlock - 1) / kBlock;
  return 1 + blocks * (1 + kBlock * sizeof(float));
}

/// The bytes written.
std::size_t ceresz_pack(const Memory<const float>& values, const Memory<std::uint8_t>& packed,
                        double bound) {
  check_bound(bound);
  if (packed.size() != ceresz_room(values.size())) {
    raise(bad_argument("the packed bytes are ", packed.size(), "; ", values.size(),
                       " values may take ", ceresz_room(values.size())));
  }
  if (values.size() == 0) return 0;
  ChunkWorkspace workspace(value_or_raise(active_isa()));
  const auto written = [&] {
    const nb::gil_scoped_release released;
    const bounded::Field<float> field{.values = {values.data(), values.size()},
                                      .shape = {values.size()}};
    return make_ceresz()->encode(
        field, bound, std::as_writable_bytes(std::span(packed.data(), packed.size())), workspace);
  }();
  if (!written) raise(bad_argument("the values do not fit into ", packed.size(), " bytes"));
  return *written;
}

void ceresz_unpack(const Memory<const std::uint8_t>& packed, const Memory<float>& values,
                   double bound) {
  check_bound(bound);
  if (values.size() == 0) return;
  ChunkWorkspace workspace(value_or_raise(active_isa()));
  const auto done = [&] {
    const nb::gil_scoped_release released;
    return make_ceresz()->decode(std::as_bytes(std::span(packed.data(), packed.size())),
                                 {values.size()}, bound, {values.data(), values.size()}, workspace);
  }();
  check(done);
}

struct Blocks {
  kernels::Transform transform;
  kernels::Layout layout;
  int chop_factor;
  std::size_t points() const { return static_cast<std::size_t>(kernels::points_of(transform)); }
  std::size_t kept() const {
    return static_cast<std::size_t>(kernels::kept_values(layout, chop_factor));
  }
};

Blocks blocks_from(const std::string& transform, const std::string& layout, int chop_factor) {
  if (transform != "dct" && transform != "zfp") {
    raise(bad_argument("transform '", transform, "' is not known; use dct or zfp"));
  }
  if (layout != "square" && layout != "triangle") {
    raise(bad_argument("layout '", layout, "' is not known; use square or triangle"));
  }
  const Blocks blocks{transform == "dct" ? kernels::Transform::dct : kernels::Transform::zfp,
                      layout == "square" ? kernels::Layout::square : kernels::Layout::triangle,
                      chop_factor};
  if (chop_factor < 1 || chop_factor > static_cast<int>(blocks.points())) {
    raise(bad_argument("cf is ", chop_factor, "; with transform ", transform, " it is 1 to ",
                       blocks.points()));
  }
  return blocks;
}

/// Rows of whole blocks, and as many coefficients as they keep.
void check_sizes(const Blocks& blocks, std::size_t values, std::size_t width, std::size_t kept) {
  const std::size_t points = blocks.points();
  if (width == 0 || width % points != 0 || values % (width * points) != 0) {
    raise(bad_argument(values, " values in rows of ", width, " are not whole blocks of ", points,
                       " x ", points));
  }
  if (kept != values / (points * points) * blocks.kept()) {
    raise(bad_argument("there is room for ", kept, " coefficients; the blocks keep ",
                       values / (points * points) * blocks.kept()));
  }
}

void chop_forward(const Memory<const float>& rows, std::size_t width, const Memory<float>& kept,
                  const std::string& transform, const std::string& layout, int chop_factor) {
  const Blocks blocks = blocks_from(transform, layout, chop_factor);
  check_sizes(blocks, rows.size(), width, kept.size());
  const Isa isa = value_or_raise(active_isa());
  const nb::gil_scoped_release released;
  const auto kernel = kernels::block_transform(blocks.transform, blocks.layout, chop_factor, isa);
  kernel.forward(rows.data(), rows.size() / (width * blocks.points()), width, kept.data(), {});
}

void chop_inverse(const Memory<const float>& kept, const Memory<float>& rows, std::size_t width,
                  const std::string& transform, const std::string& layout, int chop_factor) {
  const Blocks blocks = blocks_from(transform, layout, chop_factor);
  check_sizes(blocks, rows.size(), width, kept.size());
  const Isa isa = value_or_raise(active_isa());
  const nb::gil_scoped_release released;
  const auto kernel = kernels::block_transform(blocks.transform, blocks.layout, chop_factor, isa);
  kernel.inverse(reinterpret_cast<const std::byte*>(kept.data()),
                 rows.size() / (width * blocks.points()), width, rows.data(), false, {});
}

}  // namespace

void define_block_codecs(nb::module_& module) {
  module.def("ceresz_room", &ceresz_room, "count"_a);
  module.def("ceresz_pack", &ceresz_pack, "values"_a, "packed"_a, "bound"_a);
  module.def("ceresz_unpack", &ceresz_unpack, "packed"_a, "values"_a, "bound"_a);
  module.def("chop_forward", &chop_forward, "rows"_a, "width"_a, "kept"_a, "transform"_a,
             "layout"_a, "cf"_a);
  module.def("chop_inverse", &chop_inverse, "kept"_a, "rows"_a, "width"_a, "transform"_a,
             "layout"_a, "cf"_a);
}

}  // namespace tensorpress::python
