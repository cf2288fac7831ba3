// `device time --sweep` and `--figure`: predictions over resolution, batch, chop factor or parts.
#pragma once

#include "command_line/reports/report.h"
#include "time_options.h"

namespace tensorpress::cli {

Result<Report> report_sweeps(const TimeOptions& options);

}  // namespace tensorpress::cli
