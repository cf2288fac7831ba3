// One group a chunk: range, special values and zeros, which decide what becomes of the chunk; what
// src/kernels/value_scan does. One read of the values.

// Numbers in the order of the values whose bits they are; -0 is 0.
FUNCTION Lanes order_of(Lanes bits) {
  const Lanes sign = 0u - (bits >> 31);
  return (((bits & 0x7FFFFFFFu) ^ sign) - sign) + 0x80000000u;
}
FUNCTION float value_of_order(u32 order) {
  return FLOAT(order >= 0x80000000u ? order - 0x80000000u : 0u - order);
}
#define ORDER_OF_INFINITY 0xFF800000u

typedef struct {
  Lanes low, high;  // orders
  Lanes specials, zeros;
} Seen;

// `weight` is 1 for each lane that counts.
FUNCTION void look_at(Lanes bits, Lanes weight, GLOBAL const u32* fills, u32 fill_count,
                      Seen* seen) {
  const Lanes order = order_of(bits), magnitude = bits & 0x7FFFFFFFu;
  Lanes special = IS_AT_LEAST(magnitude, 0x7F800000u);
  for (u32 f = 0; f < fill_count; ++f) special |= IS_SAME(order, order_of((Lanes)fills[f]));
  seen->specials += special & weight;
  seen->zeros |= IS_SAME(magnitude, 0u) & ~special;
  seen->low = LEAST_LANES(seen->low, order | special);
  seen->high = MOST_LANES(seen->high, order & ~special);
}

KERNEL(scan_values)(GLOBAL const u32* values, u64 offset, GLOBAL const ChunkPlace* places,
                    GLOBAL const u32* fills, u32 fill_count, GLOBAL ChunkScan* scans) {
  LOCAL_MEMORY u32 lows[256 * LANES], highs[256 * LANES], specials[256 * LANES],
      zeros[256 * LANES];
  LOCAL_MEMORY u32 samples[256];
  const u32 t = THREAD;
  GLOBAL const u32* const chunk = values + offset + places[GROUP].first;
  const u32 count = places[GROUP].count, whole = count / LANES;
  Seen seen;
  seen.low = ORDER_OF_INFINITY;
  seen.high = 0u - ORDER_OF_INFINITY;
  seen.specials = 0u;
  seen.zeros = 0u;
  SHARE(i, 0u, whole) look_at(LOAD_LANES(chunk + LANES * i), 1u, fills, fill_count, &seen);
  SHARE(i, LANES * whole, count) look_at((Lanes)chunk[i], FIRST_LANE, fills, fill_count, &seen);
  u32 sample = 0;
  SHARE(i, 0u, (count + 63u) / 64u) {
    const u32 magnitude = chunk[64u * i] & 0x7FFFFFFFu;
    if (magnitude <= 0x7F800000u) sample = sample < magnitude ? magnitude : sample;
  }
  samples[t] = sample;
  STORE_LANES(seen.low, lows + LANES * t);
  STORE_LANES(seen.high, highs + LANES * t);
  STORE_LANES(seen.specials, specials + LANES * t);
  STORE_LANES(seen.zeros, zeros + LANES * t);
  BARRIER();
  for (u32 half_ = 128u * LANES; half_ > 0u; half_ >>= 1) {
    SHARE(i, 0u, half_) {
      lows[i] = least(lows[i], lows[i + half_]);
      highs[i] = highs[i] > highs[i + half_] ? highs[i] : highs[i + half_];
      specials[i] += specials[i + half_];
      zeros[i] |= zeros[i + half_];
      if (half_ <= 128u) samples[i] = samples[i] > samples[i + half_] ? samples[i] : samples[i + half_];
    }
    BARRIER();
  }
  if (t == 0u) {
    ChunkScan scan;
    scan.low = value_of_order(lows[0]);
    scan.high = value_of_order(highs[0]);
    scan.sample = FLOAT(samples[0]);
    scan.specials = specials[0];
    scan.zeros = zeros[0] != 0u;
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
