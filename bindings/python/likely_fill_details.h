// LikelyFillError with what was found as numbers, for programs that want to act on it.
#pragma once

#include "tensorpress/stream.h"

namespace tensorpress::python {

/// Raises `error`, of the code likely_fill, with the way out in Python's words and the attributes
/// value, count and value_range. Call with the GIL held.
[[noreturn]] void raise_likely_fill(const Error& error, const Codec& codec,
                                    const CompressOptions& options, const TensorView& view);

}  // namespace tensorpress::python
