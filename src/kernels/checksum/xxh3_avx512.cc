#if defined(__x86_64__)
#  define XXH_INLINE_ALL
#  include <xxhash.h>

#  include "kernels/checksum/xxh3.h"

namespace tensorpress::xxh3 {

void update_avx512(void* state, const void* bytes, size_t count) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state), bytes, count);
}

}  // namespace tensorpress::xxh3
#endif
