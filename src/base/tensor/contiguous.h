// The elements of a view as they lie in memory without gaps: where they are, or copied.
#pragma once

#include "tensorpress/aligned_buffer.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress {

/// In C order; `room` holds them if they had to be copied.
inline const std::byte* contiguous_elements(const TensorView& view, AlignedBuffer& room) {
  if (view.is_contiguous()) return view.data;
  const auto copy = MutableTensorView::contiguous(
      room.reserve(static_cast<std::size_t>(view.byte_count())).data(), view.dtype, view.shape);
  copy_elements(view, copy);
  return copy.data;
}

}  // namespace tensorpress
