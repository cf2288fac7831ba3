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

#if defined(__SANITIZE_ADDRESS__)
#  define TENSORPRESS_ADDRESSES_CHECKED 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define TENSORPRESS_ADDRESSES_CHECKED 1
#  endif
#endif
#ifndef TENSORPRESS_ADDRESSES_CHECKED
#  define TENSORPRESS_ADDRESSES_CHECKED 0
#endif

namespace tensorpress {

/// AddressSanitizer sees every access.
inline constexpr bool kAddressesChecked = TENSORPRESS_ADDRESSES_CHECKED != 0;
inline constexpr bool kSanitized = TENSORPRESS_SANITIZED != 0;

}  // namespace tensorpress
