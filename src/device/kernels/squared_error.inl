// Sum of squared differences over each chunk in the order of src/kernels/squared_error: eight sums,
// element i in sum i mod 8. A group has a chunk, of which
// eight threads work, or one. Needs doubles.
#if defined(__OPENCL_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#if defined(TENSORPRESS_ON_CPU)
typedef double8 DoubleColumns;
#  define COLUMNS_AS_DOUBLES(f) convert_double8(f)
#else
typedef double DoubleColumns;
#  define COLUMNS_AS_DOUBLES(f) ((double)(f))
#endif

KERNEL(squared_error)(GLOBAL const float* values, u64 offset, GLOBAL const float* decoded,
                      GLOBAL const ChunkPlace* places, GLOBAL double* sums) {
  const u32 lane = THREAD * COLUMNS;
  if (lane >= 8u) return;
  const ChunkPlace chunk = places[GROUP];
  GLOBAL const float* const one = values + offset + chunk.first;
  GLOBAL const float* const other = decoded + (chunk.first - places[0].first);
  DoubleColumns sum = 0;
  u32 i = lane;
  for (; i + COLUMNS <= chunk.count; i += 8u) {
    const DoubleColumns difference = COLUMNS_AS_DOUBLES(LOAD_COLUMNS(one + i)) -
                                     COLUMNS_AS_DOUBLES(LOAD_COLUMNS(other + i));
    const DoubleColumns square = difference * difference;
    sum += square;
  }
  double total[COLUMNS];
  STORE_COLUMNS(sum, total);
  for (u32 k = 0; i + k < chunk.count && k < COLUMNS; ++k) {
    const double difference = (double)one[i + k] - (double)other[i + k];
    const double square = difference * difference;
    total[k] += square;
  }
  for (u32 k = 0; k < COLUMNS; ++k) sums[GROUP * 8u + lane + k] = total[k];
}
