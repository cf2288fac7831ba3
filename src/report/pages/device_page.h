// Sweeps over accelerators as a page of plots, in the form of the DCT+Chop paper's Figures 10
// to 17.
#pragma once

#include <string>
#include <vector>

#include "devices/time/chop_sweep.h"
#include "report/drawing/plot.h"

namespace tensorpress::report {

Plot sweep_plot(const devices::Sweep& sweep);
std::string sweeps_html(const std::string& title, const std::vector<devices::Sweep>& sweeps);
/// Columns for a terminal: x, then a column for each series; "-" where it does not compile.
std::string sweep_text(const devices::Sweep& sweep);

}  // namespace tensorpress::report
