// Sums over the threads of a group.

FUNCTION u32 least(u32 a, u32 b) { return a < b ? a : b; }

// Of all threads' numbers those before each, in their place. parts[16] becomes the sum of all.
FUNCTION void sum_before(LOCAL u32* sums, LOCAL u32* parts) {
  const u32 t = THREAD;
  BARRIER();
  if (t < 16u) {
    u32 sum = 0;
    for (u32 i = 16u * t; i < 16u * t + 16u; ++i) {
      const u32 own = sums[i];
      sums[i] = sum;
      sum += own;
    }
    parts[t] = sum;
  }
  BARRIER();
  if (t == 0u) {
    u32 sum = 0;
    for (u32 i = 0; i < 16u; ++i) {
      const u32 own = parts[i];
      parts[i] = sum;
      sum += own;
    }
    parts[16] = sum;
  }
  BARRIER();
  sums[t] += parts[t / 16u];
  BARRIER();
}
