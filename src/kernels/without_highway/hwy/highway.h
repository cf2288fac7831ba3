// What stands for Highway in a build without it (TENSORPRESS_SIMD=OFF): a CPU with the scalar
// target alone. The kernels then compile nothing but their dispatch, which falls back to the
// *_ref.cc files. For CPUs that Highway does not know, and to have the references run as the whole
// library.
#pragma once

#define HWY_SCALAR 1
#define HWY_EMU128 2
#define HWY_SSE4 4
#define HWY_AVX2 8
#define HWY_AVX3 16
#define HWY_NEON 32

#define HWY_TARGETS HWY_SCALAR
#define HWY_TARGET HWY_SCALAR
#define HWY_ONCE 1
