// Pictures of a run on the simulated wafer: how long each PE worked (the paper's Figure 8), and
// what happened when, for Chrome's and Perfetto's trace viewers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorpress/result.h"
#include "tensorpress/wafer/wafer.h"

namespace tensorpress::report {

struct PeHeat {
  std::string title;  // "ceresz2"
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint32_t> cycles;  // row by row
};

/// A PNG of one pixel a PE, the longest time brightest; both ends are the map's own unless `high`
/// is given.
Result<std::vector<std::uint8_t>> heat_png(const PeHeat& heat, std::uint32_t high = 0);
/// A picture that stands alone, with axes in PEs and a bar of colours.
Result<std::string> heat_svg(const PeHeat& heat);
/// A page with the maps side by side on one scale; resting on a PE shows its cycles.
Result<std::string> heat_page(const std::vector<PeHeat>& heats);

/// The trace event format: a process for each row of PEs and one for its links, a thread for each
/// PE, a cycle as a microsecond.
std::string trace_json(const wafer::Layout& layout, const wafer::Report& report);

}  // namespace tensorpress::report
