// The style sheet of every page: page.css, which the build puts into the program.
#pragma once

#include <span>

#include "base/embedded.h"

namespace tensorpress::report {

/// One file.
extern const std::span<const EmbeddedFile> kStyleFiles;

}  // namespace tensorpress::report
