#include "device/device_source.h"

#include <array>
#include <vector>

#include "base/errors.h"
#include "base/tensor/contiguous.h"

namespace tensorpress::device {
namespace {

// The parts of a region that are consecutive in the tensor: `use(place in the tensor, place in the
// region, bytes)`, places in bytes.
template <class Use>
Result<void> for_consecutive_parts(const DeviceTensor& tensor, const Region& region,
                                   const Use& use) {
  const Shape& shape = tensor.shape;
  const std::size_t rank = shape.rank();
  if (region.extent.element_count() == 0) return {};
  // Axes from `split` on are whole, apart from the first of them.
  std::size_t split = rank;
  std::uint64_t run = 1;
  while (split > 0) {
    --split;
    run *= region.extent[split];
    if (region.extent[split] != shape[split]) break;
  }
  const std::uint64_t bytes = run * size_of(tensor.dtype);
  std::array<std::uint64_t, kMaxRank> at = region.origin;
  for (std::uint64_t done = 0;; done += bytes) {
    std::uint64_t first = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) first = first * shape[axis] + at[axis];
    RETURN_IF_ERROR(use(first * size_of(tensor.dtype), done, bytes));
    std::size_t axis = split;
    while (axis > 0) {
      --axis;
      if (++at[axis] < region.origin[axis] + region.extent[axis]) break;
      at[axis] = region.origin[axis];
      if (axis == 0) return {};
    }
    if (split == 0) return {};
  }
}

}  // namespace

Result<TensorView> DeviceSource::read(const Region& region, AlignedBuffer& scratch) {
  const std::uint64_t bytes = region.extent.element_count() * size_of(tensor_.dtype);
  const auto memory = scratch.reserve(static_cast<std::size_t>(bytes));
  RETURN_IF_ERROR(for_consecutive_parts(
      tensor_, region, [&](std::uint64_t from, std::uint64_t to, std::uint64_t size) {
        return backend_.download(
            {tensor_.memory.handle, tensor_.memory.offset + from},
            memory.subspan(static_cast<std::size_t>(to), static_cast<std::size_t>(size)));
      }));
  return TensorView::contiguous(memory.data(), tensor_.dtype, region.extent);
}

Result<void> DeviceSink::write(const Region& region, const TensorView& elements) {
  AlignedBuffer room;
  const std::span bytes(contiguous_elements(elements, room),
                        static_cast<std::size_t>(elements.byte_count()));
  return for_consecutive_parts(
      tensor_, region, [&](std::uint64_t to, std::uint64_t from, std::uint64_t size) {
        return backend_.upload(
            bytes.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(size)),
            {tensor_.memory.handle, tensor_.memory.offset + to});
      });
}

}  // namespace tensorpress::device
