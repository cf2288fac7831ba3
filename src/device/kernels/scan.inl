// One group a chunk: range, special values and zeros, which decide what becomes of the chunk; what
// src/kernels/value_scan does. One read of the values.

KERNEL(scan_values)(GLOBAL const float* values, u64 offset, GLOBAL const ChunkPlace* places,
                    GLOBAL const float* fills, u32 fill_count, GLOBAL ChunkScan* scans) {
  LOCAL_MEMORY float lows[256], highs[256], samples[256];
  LOCAL_MEMORY u32 specials[256], zeros[256];
  const u32 t = THREAD;
  GLOBAL const float* const chunk = values + offset + places[GROUP].first;
  const u32 count = places[GROUP].count;
  float low = FLOAT(0x7F800000u), high = FLOAT(0xFF800000u), sample = 0.0f;
  u32 special_count = 0, has_zeros = 0;
  for (u32 i = t; i < count; i += 256u) {
    const float x = chunk[i];
    const u32 bits = BITS(x) & 0x7FFFFFFFu;
    u32 special = bits >= 0x7F800000u;
    for (u32 f = 0; f < fill_count; ++f) special |= x == fills[f];
    const float ordinary = bits == 0u ? 0.0f : x;
    special_count += special;
    has_zeros |= special == 0u && bits == 0u;
    low = special == 0u && ordinary < low ? ordinary : low;
    high = special == 0u && ordinary > high ? ordinary : high;
    if (i % 64u == 0u) {
      const float size = MAGNITUDE(x);
      sample = sample < size ? size : sample;
    }
  }
  lows[t] = low;
  highs[t] = high;
  samples[t] = sample;
  specials[t] = special_count;
  zeros[t] = has_zeros;
  BARRIER();
  for (u32 half_ = 128; half_ > 0; half_ >>= 1) {
    if (t < half_) {
      const u32 other = t + half_;
      lows[t] = lows[other] < lows[t] ? lows[other] : lows[t];
      highs[t] = highs[other] > highs[t] ? highs[other] : highs[t];
      samples[t] = samples[t] < samples[other] ? samples[other] : samples[t];
      specials[t] += specials[other];
      zeros[t] |= zeros[other];
    }
    BARRIER();
  }
  if (t == 0) {
    ChunkScan scan;
    scan.low = lows[0];
    scan.high = highs[0];
    scan.sample = samples[0];
    scan.specials = specials[0];
    scan.zeros = zeros[0];
    scans[GROUP] = scan;
  }
}

// Every `step`-th value of each chunk from the middle of the first step on, one group a chunk.
KERNEL(take_samples)(GLOBAL const float* values, u64 offset, GLOBAL const ChunkPlace* places,
                     u32 most, GLOBAL float* samples) {
  const u32 count = places[GROUP].count;
  u32 step = count / most;
  if (step == 0u) step = 1u;
  for (u32 k = THREAD; k < 2u * most; k += 256u) {
    const u64 at = step / 2u + (u64)k * step;
    if (at < count) samples[(u64)GROUP * 2u * most + k] = values[offset + places[GROUP].first + at];
  }
}
