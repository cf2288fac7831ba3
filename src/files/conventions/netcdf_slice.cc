#include "files/conventions/netcdf_slice.h"

#include <algorithm>

namespace tensorpress::files {
namespace {

/// The elements of `size` bytes each that a slice of their axis keeps.
std::vector<std::byte> sliced(const std::vector<std::byte>& elements, std::size_t size,
                              const AxisSlice& axis) {
  std::vector<std::byte> kept;
  kept.reserve(static_cast<std::size_t>(axis.count) * size);
  for (std::uint64_t i = 0; i < axis.count; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(axis.position(i) * size);
    kept.insert(kept.end(), elements.begin() + at,
                elements.begin() + at + static_cast<std::ptrdiff_t>(size));
  }
  return kept;
}

}  // namespace

NetcdfNotes notes_of_part(NetcdfNotes notes, const Slice& slice, const Shape& shape) {
  if (notes.dimensions.size() != shape.rank()) return notes;
  std::vector<std::string> kept;
  for (std::size_t axis = 0; axis < notes.dimensions.size(); ++axis) {
    const std::string& name = notes.dimensions[axis];
    const auto coordinate = std::ranges::find(notes.coordinates, name, &NetcdfCoordinate::name);
    if (coordinate != notes.coordinates.end()) {
      const std::size_t size = size_of(coordinate->values.type);
      auto& bytes = coordinate->values.bytes;
      if (bytes.size() == shape[axis] * size) bytes = sliced(bytes, size, slice.axes[axis]);
    }
    if (!slice.axes[axis].dropped) kept.push_back(name);
  }
  notes.dimensions = std::move(kept);
  return notes;
}

}  // namespace tensorpress::files
