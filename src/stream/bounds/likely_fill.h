// A fill value that was not named: one repeated extreme, far from all other values, that makes up
// most of the value range. A bound of such a range would allow errors larger than the data.
#pragma once

#include <optional>
#include <span>

#include "stream/bounds/resolve.h"
#include "stream/bounds/survey.h"
#include "stream/chunks/chunk_grid.h"

namespace tensorpress::stream {

struct LikelyFill {
  double value = 0;
  std::uint64_t count = 0;  // elements that have it
  ValueRange without_it;    // of the other values
};

/// Looks at the data again, but only where the samples of the survey and the ranges of its chunks
/// leave it possible, and only at chunks that have such a value. A value
/// counts as likely when it is an extreme, when it occurs twice or more (once suffices for numbers
/// that are commonly used as fill values), and when the other values cover less than a tenth of the
/// range. Both extremes may be fill values at once; then this is the one with more elements.
Result<std::optional<LikelyFill>> find_likely_fill(const Survey& survey, DataLook& look,
                                                   const ChunkGrid& grid,
                                                   std::span<const double> fill_values);

/// The one sentence that all callers say about it.
Error likely_fill_error(const LikelyFill& fill);

}  // namespace tensorpress::stream
