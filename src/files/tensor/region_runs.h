// A region of a C-order tensor as it lies in a file: runs of consecutive elements, as long as
// possible, in ascending order.
#pragma once

#include <array>
#include <cstdint>

#include "base/tensor/region.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::files {

class RegionRuns {
 public:
  /// The region must have passed check_region.
  RegionRuns(const Shape& shape, const Region& region) : region_(region) {
    std::uint64_t stride = 1;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      strides_[axis] = stride;
      stride *= shape[axis];
      begin_ += region.origin[axis] * strides_[axis];
    }
    if (region.extent.element_count() == 0) return;
    run_axis_ = shape.rank();
    run_ = 1;
    while (run_axis_ > 0) {
      --run_axis_;
      run_ *= region.extent[run_axis_];
      if (region.extent[run_axis_] != shape[run_axis_]) break;
    }
    count_ = region.extent.element_count() / run_;
    end_ = begin_ + run_;
    for (std::size_t axis = 0; axis < run_axis_; ++axis) {
      const std::uint64_t steps = region.extent[axis] - 1;
      end_ += steps * strides_[axis];
      if (steps > 0) gap_ = strides_[axis] - run_;
    }
  }

  std::uint64_t count() const { return count_; }  // 0 for an empty region
  std::uint64_t run() const { return run_; }      // elements of each run
  std::uint64_t gap() const { return gap_; }      // elements between neighbours, at the least
  std::uint64_t begin() const { return begin_; }  // first element of the first run
  std::uint64_t end() const { return end_; }      // behind the last element of the last run

  /// visit(first element) -> Result<void>; the first error ends the walk.
  template <class Visit>
  Result<void> for_each(Visit visit) const {
    std::array<std::uint64_t, kMaxRank> index{};
    std::uint64_t first = begin_;
    for (std::uint64_t number = 0; number < count_; ++number) {
      RETURN_IF_ERROR(visit(first));
      for (std::size_t axis = run_axis_; axis-- > 0;) {
        first += strides_[axis];
        if (++index[axis] < region_.extent[axis]) break;
        first -= index[axis] * strides_[axis];
        index[axis] = 0;
      }
    }
    return {};
  }

 private:
  Region region_;
  std::array<std::uint64_t, kMaxRank> strides_{};
  std::size_t run_axis_ = 0;  // axes from here on are inside a run
  std::uint64_t run_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t gap_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace tensorpress::files
