#include "base/tensor/region.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace tensorpress {
namespace {

constexpr std::int64_t kFarthest = std::numeric_limits<std::int64_t>::max();

Error not_a_slice(std::string_view text, std::string_view why) {
  return bad_argument("'", text, "' is not a slice: ", why,
                      "; write START:STOP or START:STOP:STEP for each axis, as in 0:10,:,50:100:2");
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Absent for "". Numbers beyond 64 bits are as far away as those at their edge.
Result<std::optional<std::int64_t>> parse_position(std::string_view text) {
  const std::string_view word = without_blanks(text);
  if (word.empty()) return std::optional<std::int64_t>();
  std::string_view digits = word;
  if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') digits.remove_prefix(1);
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  const bool too_far = error == std::errc::result_out_of_range;
  if (stop != end || (error != std::errc() && !too_far)) {
    return not_a_slice(word, "it is not a whole number");
  }
  if (too_far) value = digits.front() == '-' ? -kFarthest : kFarthest;
  return std::optional(std::max(value, -kFarthest));
}

Result<AxisSlice> single_index(std::int64_t index, std::uint64_t extent) {
  const auto length = static_cast<std::int64_t>(extent);
  if (length == 0) return bad_argument("index ", index, " is outside an axis of 0");
  if (index >= length || index < -length) {
    return bad_argument("index ", index, " is outside an axis of ", extent, ", which has ", -length,
                        " to ", length - 1);
  }
  return AxisSlice{static_cast<std::uint64_t>(index < 0 ? index + length : index), 1, 1, true};
}

/// As Python's slice.indices: positions are counted from the end when negative and cut to the axis.
AxisSlice range(const std::optional<std::int64_t>& first, const std::optional<std::int64_t>& last,
                std::int64_t step, std::uint64_t extent) {
  const auto length = static_cast<std::int64_t>(extent);
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? length : length - 1;
  const auto place = [&](std::int64_t position) {
    return std::clamp(position < 0 ? position + length : position, lowest, highest);
  };
  const std::int64_t start = first ? place(*first) : step > 0 ? lowest : highest;
  const std::int64_t stop = last ? place(*last) : step > 0 ? highest : lowest;
  const std::int64_t way = step > 0 ? stop - start : start - stop;
  if (way <= 0) return {.start = 0, .count = 0};
  const std::int64_t stride = step > 0 ? step : -step;
  return {.start = static_cast<std::uint64_t>(start),
          .count = static_cast<std::uint64_t>((way - 1) / stride + 1),
          .step = step};
}

Result<AxisSlice> parse_entry(std::string_view text, std::uint64_t extent) {
  const std::size_t colon = text.find(':');
  TRY(const auto first, parse_position(text.substr(0, colon)));
  if (colon == std::string_view::npos) {
    if (!first) return not_a_slice(text, "an entry is empty");
    return single_index(*first, extent);
  }
  const std::string_view rest = text.substr(colon + 1);
  const std::size_t second = rest.find(':');
  TRY(const auto last, parse_position(rest.substr(0, second)));
  std::int64_t step = 1;
  if (second != std::string_view::npos) {
    const std::string_view third = rest.substr(second + 1);
    if (third.find(':') != std::string_view::npos) {
      return not_a_slice(without_blanks(text), "it has more than three parts");
    }
    TRY(const auto given, parse_position(third));
    step = given.value_or(1);
  }
  if (step == 0) return not_a_slice(without_blanks(text), "a step of 0 leads nowhere");
  return range(first, last, step, extent);
}

/// What stands between the commas; one comma at the end is as good as none.
std::vector<std::string_view> entries_of(std::string_view text) {
  std::vector<std::string_view> entries;
  while (true) {
    const std::size_t comma = text.find(',');
    entries.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  if (entries.size() > 1 && without_blanks(entries.back()).empty()) entries.pop_back();
  return entries;
}

bool is_ellipsis(std::string_view entry) {
  return without_blanks(entry) == "...";
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
  std::vector<std::uint64_t> extents;
  for (const AxisSlice& axis : axes) {
    if (!axis.dropped) extents.push_back(axis.count);
  }
  return *Shape::make(extents);  // no larger than what was a valid shape
}

Result<Slice> parse_slice(std::string_view text, const Shape& shape) {
  if (without_blanks(text).empty()) return not_a_slice(text, "it is empty");
  const auto entries = entries_of(text);
  const auto ellipses = static_cast<std::size_t>(std::ranges::count_if(entries, is_ellipsis));
  if (ellipses > 1) return not_a_slice(text, "'...' may stand in it once");
  if (entries.size() - ellipses > shape.rank()) {
    return bad_argument("the slice '", text, "' has more than the ", shape.rank(),
                        " axes of a tensor of shape ", shape.to_string());
  }
  Slice slice;
  const auto add_whole_axes = [&](std::size_t until) {
    while (slice.axes.size() < until) slice.axes.push_back({0, shape[slice.axes.size()]});
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_ellipsis(entries[i])) {
      add_whole_axes(shape.rank() - (entries.size() - i - 1));
      continue;
    }
    TRY(const AxisSlice axis, parse_entry(entries[i], shape[slice.axes.size()]));
    slice.axes.push_back(axis);
  }
  add_whole_axes(shape.rank());
  return slice;
}

}  // namespace tensorpress
