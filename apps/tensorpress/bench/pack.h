// `tensorpress bench --study pack`: packing and unpacking beside memcpy.
#pragma once

#include <cstdint>

#include "command_line/verb.h"

namespace tensorpress::cli {

Result<ExitStatus> run_pack_bench(std::uint64_t megabytes, int repetitions, bool json);

}  // namespace tensorpress::cli
