// Which of Highway's targets we compile, and the pieces every kernel file needs. Include before
// hwy/foreach_target.h. Highway's baseline targets (scalar, EMU128) compile nothing here: the
// *_ref.cc files are the truth and serve them. No SVE, whose vectors cannot be kept in arrays.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// Highway's own assertions (on in debug and sanitizer builds) call into its library, which we do
// not link.
#ifndef HWY_IS_DEBUG_BUILD
#  define HWY_IS_DEBUG_BUILD 0
#endif

// Bodies of -inl.h files stand between #if TENSORPRESS_SIMD_TARGET and #endif.
#define TENSORPRESS_SIMD_TARGET (HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)

// Loops over small arrays of vectors must be unrolled or the vectors live in memory; GCC's -O2 does
// not do it.
#if defined(__clang__)
#  define TENSORPRESS_UNROLL _Pragma("clang loop unroll(full)")
#else
#  define TENSORPRESS_UNROLL _Pragma("GCC unroll 64")
#endif

// HWY_INLINE for functions that hold a whole stage of a kernel. Sanitizers instrument every copy
// that is inlined, which took clang 250 seconds for one file; a call costs them nothing that
// matters.
#if defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
      __has_feature(undefined_behavior_sanitizer)
#    define TENSORPRESS_INLINE_STAGE HWY_NOINLINE
#  endif
#endif
#ifndef TENSORPRESS_INLINE_STAGE
#  define TENSORPRESS_INLINE_STAGE HWY_INLINE
#endif
