// Copies bytes past the cache, whole cache lines at a time: for results that are larger than it and
// will not be read again soon. Ordinary stores would first read every line they are about to
// replace.
#pragma once

#include <cstddef>

#include "base/cpu.h"

namespace tensorpress::kernels {

using StreamCopy = void (*)(const std::byte* from, std::byte* to, std::size_t count);

/// The ranges may not overlap; any alignment. The data is visible to other threads when the call
/// returns.
StreamCopy stream_copy(Isa isa);

}  // namespace tensorpress::kernels
