/* The version of the library, and of the .tpz format it writes (docs/format.md). C and C++. */
#pragma once

#define TENSORPRESS_VERSION_MAJOR 0
#define TENSORPRESS_VERSION_MINOR 1
#define TENSORPRESS_VERSION_PATCH 0
#define TENSORPRESS_VERSION_STRING "0.1.0"
/* One number that grows with every release: 10203 is 1.2.3. */
#define TENSORPRESS_VERSION_NUMBER \
  (TENSORPRESS_VERSION_MAJOR * 10000 + TENSORPRESS_VERSION_MINOR * 100 + TENSORPRESS_VERSION_PATCH)

#if defined(__cplusplus) && __cplusplus >= 201703L
namespace tensorpress {
inline constexpr unsigned kFormatVersion = 2;
}
#endif
