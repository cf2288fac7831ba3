// Sums over the threads of a group.

FUNCTION u32 least(u32 a, u32 b) { return a < b ? a : b; }

// Of all threads' numbers before each thread, and of all.
FUNCTION u32 sum_before(u32 own, LOCAL u32* sums, u32* all) {
  const u32 t = THREAD;
  sums[t] = own;
  BARRIER();
  for (u32 distance = 1; distance < 256u; distance <<= 1) {
    const u32 other = t >= distance ? sums[t - distance] : 0u;
    BARRIER();
    sums[t] += other;
    BARRIER();
  }
  *all = sums[255];
  const u32 before = sums[t] - own;
  BARRIER();
  return before;
}
