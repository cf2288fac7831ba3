// TENSORPRESS_DISPATCH(isa, Function(arguments), fallback): returns what Function of that
// instruction set's namespace returns, or `fallback` where it was not compiled in. Explicit instead
// of Highway's own table, which is chosen once per process: tests run every instruction set side by
// side. Include under HWY_ONCE, inside no namespace.
#pragma once

#include <hwy/detect_targets.h>

#if HWY_TARGETS & HWY_AVX3
#  define TENSORPRESS_CASE_AVX512(...) \
    case Isa::avx512:                  \
      return N_AVX3::__VA_ARGS__;
#else
#  define TENSORPRESS_CASE_AVX512(...)
#endif
#if HWY_TARGETS & HWY_AVX2
#  define TENSORPRESS_CASE_AVX2(...) \
    case Isa::avx2:                  \
      return N_AVX2::__VA_ARGS__;
#else
#  define TENSORPRESS_CASE_AVX2(...)
#endif
#if HWY_TARGETS & HWY_SSE4
#  define TENSORPRESS_CASE_SSE4(...) \
    case Isa::sse4:                  \
      return N_SSE4::__VA_ARGS__;
#else
#  define TENSORPRESS_CASE_SSE4(...)
#endif
#if HWY_TARGETS & HWY_NEON
#  define TENSORPRESS_CASE_NEON(...) \
    case Isa::neon:                  \
      return N_NEON::__VA_ARGS__;
#else
#  define TENSORPRESS_CASE_NEON(...)
#endif

#define TENSORPRESS_DISPATCH(isa, call, fallback) \
  switch (isa) {                                  \
    TENSORPRESS_CASE_AVX512(call)                 \
    TENSORPRESS_CASE_AVX2(call)                   \
    TENSORPRESS_CASE_SSE4(call)                   \
    TENSORPRESS_CASE_NEON(call)                   \
    default:                                      \
      return fallback;                            \
  }
