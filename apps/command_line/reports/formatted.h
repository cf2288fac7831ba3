// Lines whose columns printf's formats say best, as strings.
#pragma once

#include <string>

namespace tensorpress::cli {

/// The compiler checks the arguments against the format.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

}  // namespace tensorpress::cli
