#include "base/region.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tensorpress {
namespace {

Error not_a_slice(std::string_view text, std::string_view why) {
  return bad_argument("'", text, "' is not a slice: ", why,
                      "; write START:STOP for each axis as in 0:10,:,50:100");
}

struct Entry {
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
  bool index = false;
};

Result<std::optional<std::int64_t>> parse_position(std::string_view text) {
  if (text.empty()) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return not_a_slice(text, "it is not a whole number");
  }
  return std::optional(value);
}

// A position of an axis, counted from its end when negative, cut to its extent.
std::uint64_t place(std::int64_t position, std::uint64_t extent) {
  const auto length = static_cast<std::int64_t>(extent);
  if (position < 0) position += length;
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(position, 0, length));
}

Result<Entry> parse_entry(std::string_view text, std::uint64_t extent) {
  const std::size_t colon = text.find(':');
  TRY(const auto first, parse_position(text.substr(0, colon)));
  if (colon == std::string_view::npos) {
    if (!first) return not_a_slice(text, "an entry is empty");
    const auto length = static_cast<std::int64_t>(extent);
    if (*first >= length || *first < -length) {
      return bad_argument("index ", *first, " is outside an axis of ", extent, ", which has ",
                          -length, " to ", length - 1);
    }
    const std::uint64_t at = place(*first, extent);
    return Entry{at, at + 1, true};
  }
  std::string_view rest = text.substr(colon + 1);
  if (rest == ":") rest = "";
  if (rest.find(':') != std::string_view::npos) return not_a_slice(text, "steps are not supported");
  TRY(const auto last, parse_position(rest));
  Entry entry{first ? place(*first, extent) : 0, last ? place(*last, extent) : extent};
  entry.stop = std::max(entry.start, entry.stop);
  return entry;
}

}  // namespace

Result<void> check_region(const Shape& shape, const Region& region) {
  bool inside = region.extent.rank() == shape.rank();
  for (std::size_t axis = 0; inside && axis < shape.rank(); ++axis) {
    inside = region.origin[axis] <= shape[axis] &&
             region.extent[axis] <= shape[axis] - region.origin[axis];
  }
  if (inside) return {};
  return bad_argument("a region of shape ", region.extent.to_string(),
                      " does not lie inside a tensor of shape ", shape.to_string());
}

Shape Slice::shape() const {
  return without_dropped(region).extent;
}

Region Slice::without_dropped(const Region& from) const {
  std::vector<std::uint64_t> extents;
  Region result;
  for (std::size_t axis = 0; axis < from.extent.rank(); ++axis) {
    if (dropped[axis]) continue;
    result.origin[extents.size()] = from.origin[axis];
    extents.push_back(from.extent[axis]);
  }
  result.extent = *Shape::make(extents);  // of what was a valid shape
  return result;
}

Result<Slice> parse_slice(std::string_view text, const Shape& shape) {
  Slice slice{Region::whole(shape), std::vector<bool>(shape.rank(), false)};
  std::string_view rest = text;
  for (std::size_t axis = 0;; ++axis) {
    if (axis == shape.rank()) {
      return bad_argument("the slice '", text, "' has more than the ", shape.rank(),
                          " axes of a tensor of shape ", shape.to_string());
    }
    const std::size_t comma = rest.find(',');
    TRY(const Entry entry, parse_entry(rest.substr(0, comma), shape[axis]));
    slice.region.origin[axis] = entry.start;
    slice.region.extent[axis] = entry.stop - entry.start;
    slice.dropped[axis] = entry.index;
    if (comma == std::string_view::npos) return slice;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace tensorpress
