// Whether a sanitizer that replaces the allocator is there: it is slow, keeps what is freed on
// purpose, and ends the process where memory runs out.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define TENSORPRESS_SANITIZED 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#    define TENSORPRESS_SANITIZED 1
#  endif
#endif
#ifndef TENSORPRESS_SANITIZED
#  define TENSORPRESS_SANITIZED 0
#endif

namespace tensorpress {

inline constexpr bool kSanitized = TENSORPRESS_SANITIZED != 0;

}  // namespace tensorpress
