// Which values of a chunk count in its range, where the dataset names no fill value.
//
// HDF5 then pads the chunks at the edges with zeros, and nccopy even leaves the fill value out of
// the file's property lists (it switches filling off for speed) while the data are full of it.
// Counted, either would loosen a relative bound, and a -1e34 makes it worthless. So zeros do not
// count; nor does an extreme without which the range would be a tenth or less: it is taken for a
// fill value and kept bit for bit. Both can only make a bound tighter.
#pragma once

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

/// `chunk` is contiguous and aligned.
Result<CountedValues> counted_values(const TensorView& chunk, std::vector<double> fill_values);

}  // namespace tensorpress::hdf5
