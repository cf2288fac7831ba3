// A chunk as a walk over slabs: a few block rows at a time, small enough to stay in the
// second-level cache while they are gathered, transformed, summed and written.
//
//   planar   slab = consecutive block rows, possibly of several planes; `first` counts block rows
//   over all planes linear   slab = consecutive values; `first` counts values
#pragma once

#include <cstddef>
#include <cstdint>

#include "codecs/dct_chop/parameters.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::dct_chop {

struct Slab {
  std::uint64_t first = 0;
  std::size_t block_rows = 0;
  std::size_t width = 0;            // padded, a multiple of the transform's points
  std::size_t values = 0;           // coefficients
  std::uint64_t first_value = 0;    // of the coefficients, in the chunk
  std::uint64_t first_element = 0;  // of the elements, when nothing is padded
};

class SlabWalk {
 public:
  /// With `whole_planes` a slab is one plane, as the matrix form needs it.
  SlabWalk(const Geometry& geometry, bool whole_planes);

  std::uint64_t count() const { return count_; }
  Slab operator[](std::uint64_t index) const;
  std::size_t most_elements() const;  // padded, of any slab
  std::size_t most_values() const;

 private:
  Geometry geometry_;
  std::uint64_t step_ = 1;   // block rows or values per slab
  std::uint64_t total_ = 0;  // block rows or padded values
  std::uint64_t count_ = 0;
};

/// The rows of a slab as floats, edges replicated into the padding.
void load_slab(const TensorView& chunk, const Geometry& geometry, const Slab& slab, Isa isa,
               float* rows);
/// The reverse: rounded, clamped, cropped. `stream` writes past the cache, where elements lie side
/// by side; the rows are lost.
void store_slab(float* rows, const Geometry& geometry, const Slab& slab, Isa isa, bool stream,
                const MutableTensorView& chunk);
/// Sum of squared differences between the chunk and what store_slab would put in its place; not
/// finite when an element of either is not.
double slab_squared_error(const TensorView& chunk, const Geometry& geometry, const Slab& slab,
                          const float* rows, Isa isa);

}  // namespace tensorpress::dct_chop
