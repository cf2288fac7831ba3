// Our own error-bounded codecs as contenders, through the public API with all that a user pays for:
// range scan, bound check, checksums, the container.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmark/contender.h"

namespace tensorpress::benchmark {

/// Names of our contenders in this build: each codec that takes a bound, and "dense-fast" for
/// `dense` with `--effort fast`; likewise for every effort that is not the default.
std::vector<std::string> own_contender_names();

/// A contender of that name, or an error that lists the names there are.
Result<std::unique_ptr<Contender>> own_contender(const std::string& name);

}  // namespace tensorpress::benchmark
