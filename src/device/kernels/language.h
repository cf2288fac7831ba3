// One text of kernels for OpenCL C, CUDA and HIP: what these languages spell differently. C++ takes
// it too, for the structs that host and device share.
//
// Rules for kernels, so that all of them give the same bytes: groups of 256 threads; no barrier in
// divergent code, no intrinsics of warps, no templates, no division; every f32 operation through
// MUL, ADD, SUB, each rounded by itself.
//
// GPUs and CPUs share the text, but not how work is laid out (TENSORPRESS_ON_CPU, which the host
// defines where a device is a CPU): who takes which element of a range (SHARE), where values live
// from one barrier to the next (KEPT), and how many blocks one thread works on side by side (LANES;
// drivers for CPUs do not make vectors of kernels like these by themselves). No result depends on
// it.
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
#    if !defined(__HIPCC_RTC__)
#      include <hip/hip_runtime.h>
#    endif
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
#  define TENSORPRESS_DEVICE_STRUCTS
#  include <cstdint>
namespace tensorpress::device {
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
}  // namespace tensorpress::device
#endif

#ifndef TENSORPRESS_DEVICE_STRUCTS

#  if defined(TENSORPRESS_ON_CPU)  // ---- layout of work: OpenCL on a CPU
// A thread's elements lie side by side.
#    define SHARE(i, first, end) \
      for (u32 i = first_of((first), (end)), i##_end = end_of(i, (first), (end)); i < i##_end; ++i)
FUNCTION u32 first_of(u32 first, u32 end) {
  return first + THREAD * ((end - first + 255u) / 256u);
}
FUNCTION u32 end_of(u32 own, u32 first, u32 end) {
  const u32 next = own + (end - first + 255u) / 256u;
  return next < end ? next : end;
}
// Side by side in local memory, where a driver would put each thread's own array.
#    define KEPT(name, count) LOCAL_MEMORY u32 name##_kept[(count)*256]
#    define KEPT_AT(name, i, thread) name##_kept[(i)*256u + (thread)]
// A loop up to `count`, which is at most `most`.
#    define LOOP_END(most, count) (count)
#    define LANES 16u
typedef uint16 Lanes;
typedef float16 FloatLanes;
// As many as fit into eight, where eight columns are part of a format.
#    define COLUMNS 8u
typedef uint8 Columns;
typedef float8 FloatColumns;
#    define LOAD_COLUMNS(p) vload8(0, (p))
#    define STORE_COLUMNS(v, p) vstore8((v), 0, (p))
#    define COLUMNS_BITS(f) as_uint8(f)
#    define COLUMNS_FLOAT(u) as_float8(u)
#    define COLUMNS_CONVERTED(u) convert_float8(u) /* below 2^24 */
#    define EACH_COLUMN ((Columns)(0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u))
#    define IS_LESS_COLUMNS(a, b) as_uint8((a) < (Columns)(b))
#    define IS_FLOAT_LESS_COLUMNS(a, b) as_uint8((a) < (FloatColumns)(b))
#    define LOAD_LANES(p) vload16(0, (p))
#    define STORE_LANES(v, p) vstore16((v), 0, (p))
#    define LANES_BITS(f) as_uint16(f)
#    define LANES_FLOAT(u) as_float16(u)
// Functions, since not every driver keeps products and sums of one expression apart.
FUNCTION FloatLanes MUL_LANES(FloatLanes a, FloatLanes b) {
  return a * b;
}
FUNCTION FloatLanes ADD_LANES(FloatLanes a, FloatLanes b) {
  return a + b;
}
FUNCTION FloatLanes SUB_LANES(FloatLanes a, FloatLanes b) {
  return a - b;
}
FUNCTION FloatColumns MUL_COLUMNS(FloatColumns a, FloatColumns b) {
  return a * b;
}
FUNCTION FloatColumns ADD_COLUMNS(FloatColumns a, FloatColumns b) {
  return a + b;
}
FUNCTION FloatColumns SUB_COLUMNS(FloatColumns a, FloatColumns b) {
  return a - b;
}
#    define LEADING_ZEROS_OF(u) clz(u)
#    define LEAST_LANES(a, b) min((a), (b))
#    define MOST_LANES(a, b) max((a), (b))
// All ones where it is so, else 0.
// |a| <= b, of floats, by their bits: not every simulator selects by vectors of truth values.
#    define IS_WITHIN(a, b) (((BITS(b) - (as_uint16(a) & 0x7FFFFFFFu)) >> 31) - 1u)
#    define IS_AT_LEAST(a, b) as_uint16((a) >= (Lanes)(b))
#    define IS_SAME(a, b) as_uint16((a) == (Lanes)(b))
#    define FIRST_LANE ((Lanes)(1u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u))

#  else  // ---- layout of work: GPUs
#    define SHARE(i, first, end) for (u32 i = (first) + THREAD; i < (end); i += 256u)
#    define KEPT(name, count) u32 name##_kept[count]
#    define KEPT_AT(name, i, thread) name##_kept[i]
#    define LOOP_END(most, count) (most)
#    define LANES 1u
typedef u32 Lanes;
typedef float FloatLanes;
#    define COLUMNS 1u
typedef u32 Columns;
typedef float FloatColumns;
#    define LOAD_COLUMNS(p) (*(p))
#    define STORE_COLUMNS(v, p) (*(p) = (v))
#    define COLUMNS_BITS(f) BITS(f)
#    define COLUMNS_FLOAT(u) FLOAT(u)
#    define COLUMNS_CONVERTED(u) ((float)(u))
#    define EACH_COLUMN 0u
#    define IS_LESS_COLUMNS(a, b) ((a) < (b) ? 0xFFFFFFFFu : 0u)
#    define IS_FLOAT_LESS_COLUMNS(a, b) ((a) < (b) ? 0xFFFFFFFFu : 0u)
#    define LOAD_LANES(p) (*(p))
#    define STORE_LANES(v, p) (*(p) = (v))
#    define LANES_BITS(f) BITS(f)
#    define LANES_FLOAT(u) FLOAT(u)
#    define MUL_LANES(a, b) MUL((a), (b))
#    define ADD_LANES(a, b) ADD((a), (b))
#    define SUB_LANES(a, b) SUB((a), (b))
#    define MUL_COLUMNS(a, b) MUL((a), (b))
#    define ADD_COLUMNS(a, b) ADD((a), (b))
#    define SUB_COLUMNS(a, b) SUB((a), (b))
#    define LEADING_ZEROS_OF(u) LEADING_ZEROS(u)
#    define LEAST_LANES(a, b) ((a) < (b) ? (a) : (b))
#    define MOST_LANES(a, b) ((a) > (b) ? (a) : (b))
#    define IS_WITHIN(a, b) (MAGNITUDE(a) <= (b) ? 0xFFFFFFFFu : 0u)
#    define IS_AT_LEAST(a, b) ((a) >= (b) ? 0xFFFFFFFFu : 0u)
#    define IS_SAME(a, b) ((a) == (b) ? 0xFFFFFFFFu : 0u)
#    define FIRST_LANE 1u
#  endif

#endif

#endif
