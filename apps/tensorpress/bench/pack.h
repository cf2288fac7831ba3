// `tensorpress bench --study pack`: packing and unpacking beside memcpy.
#pragma once

#include <cstdint>

#include "command_line/reports/report.h"
#include "tensorpress/result.h"

namespace tensorpress::cli {

Result<Report> run_pack_bench(std::uint64_t megabytes, int repetitions, Reporter& reporter);

}  // namespace tensorpress::cli
