// Sum of squared differences over each chunk in the order of src/kernels/squared_error: eight sums,
// element i in sum i mod 8. A group has a chunk, of which eight threads work, or one. Needs doubles.

KERNEL(squared_error)(GLOBAL const float* values, u64 offset, GLOBAL const float* decoded,
                      GLOBAL const ChunkPlace* places, GLOBAL double* sums) {
  const u32 lane = THREAD * COLUMNS;
  if (lane >= 8u) return;
  const ChunkPlace chunk = places[GROUP];
  GLOBAL const float* const one = values + offset + chunk.first;
  GLOBAL const float* const other = decoded + (chunk.first - places[0].first);
  double total[COLUMNS];
  SUM_SQUARED_DIFFERENCES(one, other, lane, chunk.count, total)
  for (u32 k = 0; k < COLUMNS; ++k) sums[GROUP * 8u + lane + k] = total[k];
}
