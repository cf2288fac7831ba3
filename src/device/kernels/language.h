// One text of kernels for OpenCL C, CUDA and HIP: what these languages spell differently. C++ takes
// it too, for the structs that host and device share.
//
// Rules for kernels, so that all of them give the same bytes: groups of 256 threads; no barrier in
// divergent code, no intrinsics of warps, no templates, no division; every f32 operation through
// MUL, ADD, SUB, each rounded by itself.
#ifndef TENSORPRESS_DEVICE_LANGUAGE
#define TENSORPRESS_DEVICE_LANGUAGE

#if defined(__OPENCL_VERSION__)  // ---- OpenCL C
#  pragma OPENCL FP_CONTRACT OFF
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
#  define KERNEL(name) __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void name
#  define FUNCTION static inline
#  define GLOBAL __global
#  define LOCAL __local        /* of pointers */
#  define LOCAL_MEMORY __local /* of arrays */
#  define THREAD ((u32)get_local_id(0))
#  define GROUP ((u32)get_group_id(0))
#  define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#  define BITS(f) as_uint(f)
#  define FLOAT(u) as_float(u)
#  define LEADING_ZEROS(u) ((u32)clz(u))
#  define MAGNITUDE(f) fabs(f)
FUNCTION float MUL(float a, float b) {
  return a * b;
}
FUNCTION float ADD(float a, float b) {
  return a + b;
}
FUNCTION float SUB(float a, float b) {
  return a - b;
}
#  define NEXT_TICKET(p) atomic_inc((volatile __global u32*)(p))
#  define REPORT(p, v) (void)atomic_or((volatile __global u32*)(p), (v))
#  define PUBLISH(p, v) (void)atomic_xchg((volatile __global u32*)(p), (v))
#  define LOOK(p) atomic_or((volatile __global u32*)(p), 0u)

#elif defined(__CUDACC__) || defined(__HIP__)  // ---- CUDA, HIP
#  if defined(__HIP__)
#    include <hip/hip_runtime.h>
#    pragma clang fp contract(off)
#  endif
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
#  define KERNEL(name) extern "C" __global__ void __launch_bounds__(256) name
#  define FUNCTION static __device__ __forceinline__
#  define GLOBAL
#  define LOCAL
#  define LOCAL_MEMORY __shared__
#  define THREAD ((u32)threadIdx.x)
#  define GROUP ((u32)blockIdx.x)
#  define BARRIER() __syncthreads()
#  define BITS(f) __float_as_uint(f)
#  define FLOAT(u) __uint_as_float(u)
#  define LEADING_ZEROS(u) ((u32)__clz((int)(u)))
#  define MAGNITUDE(f) fabsf(f)
// CUDA's _rn intrinsics are never contracted; HIP's are, after inlining, and plain operators under
// the pragma above are not.
#  if defined(__HIP__)
FUNCTION float MUL(float a, float b) {
  return a * b;
}
FUNCTION float ADD(float a, float b) {
  return a + b;
}
FUNCTION float SUB(float a, float b) {
  return a - b;
}
#  else
FUNCTION float MUL(float a, float b) {
  return __fmul_rn(a, b);
}
FUNCTION float ADD(float a, float b) {
  return __fadd_rn(a, b);
}
FUNCTION float SUB(float a, float b) {
  return __fsub_rn(a, b);
}
#  endif
#  define NEXT_TICKET(p) atomicAdd((p), 1u)
#  define REPORT(p, v) (void)atomicOr((p), (v))
#  define PUBLISH(p, v) (void)atomicExch((p), (v))
#  define LOOK(p) atomicOr((p), 0u)

#else  // ---- C++, for structs
#  include <cstdint>
namespace tensorpress::device {
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
}  // namespace tensorpress::device
#endif

#endif
