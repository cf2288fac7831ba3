// Sum of squared differences over each chunk in the order of src/kernels/squared_error: eight sums,
// element i in sum i mod 8. Eight threads have a chunk. Needs doubles.
#if defined(__OPENCL_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

KERNEL(squared_error)(GLOBAL const float* values, u64 offset, GLOBAL const float* decoded,
                      GLOBAL const ChunkPlace* places, u32 chunks, GLOBAL double* sums) {
  const u32 number = GROUP * 32u + THREAD / 8u, lane = THREAD % 8u;
  if (number >= chunks) return;
  const ChunkPlace chunk = places[number];
  double sum = 0;
  for (u32 i = lane; i < chunk.count; i += 8u) {
    const double difference =
        (double)values[offset + chunk.first + i] - (double)decoded[chunk.first - places[0].first + i];
    const double square = difference * difference;
    sum += square;
  }
  sums[number * 8u + lane] = sum;
}
