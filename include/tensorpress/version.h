// The version of the library, and of the .tpz format it writes (docs/format.md).
#pragma once

#define TENSORPRESS_VERSION_MAJOR 0
#define TENSORPRESS_VERSION_MINOR 1
#define TENSORPRESS_VERSION_PATCH 0
#define TENSORPRESS_VERSION_STRING "0.1.0"

namespace tensorpress {
inline constexpr unsigned kFormatVersion = 1;
}
