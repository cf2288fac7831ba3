// Tokens become a tree, by recursive descent with a limit on depth. The first error of a file ends
// its parse: what follows a wrong token is guesswork.
#pragma once

#include <memory>

#include "csl/syntax/tree.h"

namespace tensorpress::csl {

/// Null after an error, which `diagnostics` has.
std::unique_ptr<File> parsed(const Sources& sources, std::uint32_t file, Diagnostics& diagnostics);

}  // namespace tensorpress::csl
