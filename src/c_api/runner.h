// A runner of the caller, in C, as one that the library takes.
#pragma once

#include "tensorpress/parallel.h"
#include "tensorpress/tensorpress.h"

namespace tensorpress::c_api {

/// NULL gives an empty Runner, which the library replaces by threads of its own. Throws
/// RunnerFailed, on the calling thread, when not every task was run.
Runner runner_of(tensorpress_runner runner, void* opaque);

}  // namespace tensorpress::c_api
