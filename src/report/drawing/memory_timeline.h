// Memory over a training step for an HtmlDocument, as inline SVG with a legend below it: layers
// stacked on each other, one column for each position of forward and backward, the peak marked. The
// pointer on a column tells its name and the bytes of every layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tensorpress::report {

struct TimelinePosition {
  std::string name;
  std::vector<std::int64_t> bytes;  // of each layer, from the bottom
};

struct MemoryTimeline {
  std::string title;
  std::vector<std::string> layers = {};  // names, from the bottom
  std::vector<TimelinePosition> positions = {};
  std::size_t first_backward = 0;  // where the second pass begins; the length if there is none
  /// Top of the scale, to compare several drawings; 0: the peak.
  std::int64_t scale_bytes = 0;
  /// A line across, such as a budget; 0: none.
  std::int64_t limit_bytes = 0;
};

/// The position with the most bytes, the first of them; 0 for none.
std::size_t peak_position(const MemoryTimeline& timeline);
std::int64_t bytes_at(const MemoryTimeline& timeline, std::size_t position);

/// Long steps are drawn in at most 400 columns, each with the highest of its positions. The title
/// is only spoken; a heading above shows it.
std::string timeline_html(const MemoryTimeline& timeline);

}  // namespace tensorpress::report
