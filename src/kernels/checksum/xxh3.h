// xxhash's update compiled for several instruction sets. Every file that defines one of these
// includes nothing but xxhash, so no inline function built for a newer CPU can leak into the rest
// of the program.
#pragma once

#include <stddef.h>

namespace tensorpress::xxh3 {

using UpdateFunction = void (*)(void* state, const void* bytes, size_t count);

void update_baseline(void* state, const void* bytes, size_t count);
#if defined(__x86_64__)
void update_avx2(void* state, const void* bytes, size_t count);
void update_avx512(void* state, const void* bytes, size_t count);
#endif

}  // namespace tensorpress::xxh3
