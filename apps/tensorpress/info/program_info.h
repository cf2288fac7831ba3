// `tensorpress info` without a file: what this program can do.
#pragma once

#include "command_line/reports/report.h"
#include "tensorpress/result.h"

namespace tensorpress::cli {

/// Version, instruction set and codecs.
Result<Report> report_on_program();

}  // namespace tensorpress::cli
