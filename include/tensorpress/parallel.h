// Threads belong to the caller. The library asks a Runner to call a function for every index in [0,
// count), in any order and on any threads; results never depend on the choice.
#pragma once

#include <cstddef>
#include <functional>

#include "tensorpress/api.h"

namespace tensorpress {

/// Calls task(i) once for each i < count and returns when all are done. Indices must be started in
/// ascending order.
using Runner = std::function<void(std::size_t count, const std::function<void(std::size_t)>& task)>;

/// A runner on the calling thread and `threads - 1` others, which live for the duration of one
/// call.
TENSORPRESS_API Runner thread_runner(std::size_t threads);

}  // namespace tensorpress
