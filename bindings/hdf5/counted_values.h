// Which values of a chunk count in its range.
//
// Where the dataset names no fill value, HDF5 pads the chunks at the edges with zeros, and nccopy
// even leaves the fill value out of the file's property lists (it switches filling off for speed)
// while the data are full of it. Counted, either would loosen a relative bound, and a -1e34 makes
// it worthless. So such zeros do not count. Nor does an extreme without which the range would be a
// tenth or less, or both extremes if that is true of the two together, whatever the dataset names:
// they are taken for fill values and kept bit for bit. All of this can only make a bound tighter,
// where refusing the chunk would fail a write that the program may have left behind long ago.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensorpress/bound.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::hdf5 {

struct CountedValues {
  ValueRange range;                 // 0 to 0 when nothing counts
  std::vector<double> fill_values;  // the given ones, then those that were found
};

enum class Zeros : std::uint8_t { count, may_be_padding };

/// `chunk` is contiguous and aligned.
Result<CountedValues> counted_values(const TensorView& chunk, std::vector<double> fill_values,
                                     Zeros zeros);

}  // namespace tensorpress::hdf5
