// What is worth a remark about a bound: it holds, but hardly anything of the data is left.
#pragma once

#include <string>

#include "tensorpress/streaming.h"

namespace tensorpress::cli {

/// A sentence, or "" for a bound that makes sense. An absolute bound is compared with the value
/// range: of some values first, and only if the bound is as large as half of that range, of all.
/// Sources that can be read once are not looked at.
Result<std::string> remark_on_bound(const CompressOptions& options, TensorSource& source);

}  // namespace tensorpress::cli
