// Small text files read and written whole: models, plans, devices, codebooks, pages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensorpress/result.h"

namespace tensorpress::files {

/// The content of a file of at most `most` bytes; `what` it is stands in the message, "a plan".
Result<std::string> read_text(const std::string& path, std::uint64_t most, std::string_view what);

/// Appears whole or not at all; "-" is standard output.
Result<void> write_text(const std::string& path, std::string_view content);

}  // namespace tensorpress::files
