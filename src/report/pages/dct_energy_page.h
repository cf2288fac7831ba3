// How the dct-energy study is shown: a page with heat maps as in the paper's figure, and a table
// for the terminal.
#pragma once

#include <string>

#include "benchmark/studies/dct_energy_study.h"

namespace tensorpress::report {

/// Rows are channels, columns qualities.
std::string dct_energy_html(const benchmark::DctEnergy& study);
/// For each channel and quality, what each chop factor keeps.
std::string dct_energy_text(const benchmark::DctEnergy& study);

}  // namespace tensorpress::report
