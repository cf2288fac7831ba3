// What the verbs of tensorpress-mpi share.
#pragma once

#include <functional>
#include <string>

#include "command_line/options/force_option.h"
#include "command_line/verb.h"

namespace tensorpress::mpi {

/// Runs a verb that all ranks run. An exception of one of them, which the others cannot know of,
/// ends the whole job instead of letting them wait.
Result<cli::Report> in_step(const std::function<Result<cli::Report>()>& run);

/// Every rank reads its own part and writes it where it belongs, so both must be files. An output
/// that exists is replaced only with --force.
Result<void> check_files(const std::string& input, const std::string& output,
                         const cli::ForceOption& force);

}  // namespace tensorpress::mpi
