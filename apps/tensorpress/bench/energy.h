// `tensorpress bench --study dct-energy`: which coefficients of images are non-zero.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command_line/reports/report.h"
#include "tensorpress/result.h"

namespace tensorpress::cli {

/// Writes the figure to `page`.
Result<Report> run_energy_study(const std::vector<std::string>& files, std::uint64_t most_images,
                                const std::string& page);

}  // namespace tensorpress::cli
