// Whether a stream, or a variable of a file, is as close to its original as it says: one judgement
// for the program and the Python module.
#pragma once

#include <optional>
#include <string>

#include "metrics/metrics.h"
#include "tensorpress/bound.h"
#include "tensorpress/stream.h"

namespace tensorpress::metrics {

/// The first promise of the stream that the measured errors break, as a sentence: its bound, then
/// the L2 error that it stores, then the values that come back bit for bit. "" if it keeps them. Of
/// a stream with a history the bound holds against the first values, too.
std::string what_is_wrong(const ErrorStatistics& measured, const StreamInfo& stream);

/// What the measured errors break of a bound alone and of the values that come back bit for bit: a
/// sentence, "" if nothing. `bound` is absent where a codec of a fixed rate keeps none.
std::string what_is_wrong(const ErrorStatistics& measured, const std::optional<Bound>& bound);

}  // namespace tensorpress::metrics
