// Codec quantize (docs/format.md): f32 values in groups to codes of 1 to 6 or 8 bits, and back.
// The arithmetic is that of src/kernels/quantize/group_scale.h and quantize_ref.h.
//
// A group of threads has a tile of up to 32 groups of values in local memory. Eight threads, or a
// multiple, share a group of values: thread `lane` of them has column `lane`, whose codes are the
// values lane, lane + 8, lane + 16 and so on, in words of 32 bits. One read and one write.
#define ROUNDER 12582912.0f
#define ROUNDER_BITS 0x4B400000u
#define FRACTIONS 16384.0f
#define SMALLEST_SCALE 0x07800000u /* 2^-112 */
#define HEADER 4u
#define WORDS_BYTES 32u /* a word of each column */
#if defined(TENSORPRESS_ON_CPU)
#  define PLACE_IN_TILE(i, group, row) (i)
#  define ROW_PADDING 0u
#else
#  define PLACE_IN_TILE(i, group, row) ((i) / (group) * (row) + (i) % (group))
#  define ROW_PADDING 8u /* so that rows of a tile begin in different banks */
#endif

typedef struct {
  u32 bits;
  u32 group;           // values
  u32 groups_in_tile;  // 1 to 32
  u32 stochastic;
} QuantizeShape;

typedef struct {
  float minimum, scale, inverse;
  u32 fine;  // whether the group can be coded
} Grid;

FUNCTION u32 is_finite(float value) { return (BITS(value) & 0x7FFFFFFFu) < 0x7F800000u; }

// Rounded to nearest, ties to even, as IEEE 754 has it: a device's own division may be less exact.
// A dividend that is not finite stays what it is; the divisor is finite and not 0.
FUNCTION float divide(float a, float b) {
  if (!is_finite(a)) return a;
  const u32 sign = (BITS(a) ^ BITS(b)) & 0x80000000u;
  u32 ma = BITS(a) & 0x7FFFFFFFu, mb = BITS(b) & 0x7FFFFFFFu;
  if (ma == 0u) return FLOAT(sign);
  int ea = (int)(ma >> 23), eb = (int)(mb >> 23);
  if (ea == 0) {
    const u32 shift = LEADING_ZEROS(ma) - 8u;
    ma <<= shift;
    ea = 1 - (int)shift;
  } else {
    ma = (ma & 0x7FFFFFu) | 0x800000u;
  }
  if (eb == 0) {
    const u32 shift = LEADING_ZEROS(mb) - 8u;
    mb <<= shift;
    eb = 1 - (int)shift;
  } else {
    mb = (mb & 0x7FFFFFu) | 0x800000u;
  }
  int exponent = ea - eb + 127;
  if (ma < mb) {
    ma <<= 1;
    --exponent;
  }
  // 1 to below 2 with 30 bits of fraction, and a last bit that says whether more follows.
  const u64 dividend = (u64)ma << 30;
  u32 quotient = (u32)(dividend / mb);
  quotient |= (u64)quotient * mb != dividend;
  u32 dropped = 7;
  if (exponent <= 0) {
    dropped += (u32)(1 - exponent);
    exponent = 0;
    if (dropped > 31u) return FLOAT(sign);
  }
  const u32 half_ = 1u << (dropped - 1u);
  const u32 rest = quotient & ((1u << dropped) - 1u);
  u32 result = quotient >> dropped;
  result += rest > half_ || (rest == half_ && (result & 1u));
  if (exponent > 0) result += (u32)(exponent - 1) << 23;
  return FLOAT(sign | (result < 0x7F800000u ? result : 0x7F800000u));
}

FUNCTION Grid grid_of_range(float least_value, float most_value, float levels) {
  Grid grid;
  least_value = ADD(least_value, 0.0f);
  u32 bits = BITS(least_value);
  if (least_value < 0.0f) bits += 0x1FFFu;
  grid.minimum = FLOAT(bits & ~0x1FFFu);
  grid.scale = 0.0f;
  grid.inverse = 0.0f;
  const float range = SUB(most_value, grid.minimum);
  grid.fine = is_finite(grid.minimum) && is_finite(range);
  if (grid.fine && range > 0.0f) {
    u32 exact = BITS(divide(range, levels));
    if (exact < SMALLEST_SCALE) exact = SMALLEST_SCALE;
    grid.scale = FLOAT((exact + 0x3FFFFu) & ~0x3FFFFu);
    grid.inverse = divide(1.0f, grid.scale);
  }
  grid.fine = grid.fine && is_finite(ADD(MUL(levels, grid.scale), grid.minimum));
  return grid;
}

FUNCTION Grid grid_of_means(float low, float high) {
  Grid grid;
  low = ADD(low, 0.0f);
  grid.minimum = FLOAT((BITS(low) + 0x1000u) & ~0x1FFFu);
  grid.scale = 0.0f;
  grid.inverse = 0.0f;
  const float distance = SUB(high, grid.minimum);
  grid.fine = is_finite(grid.minimum) && is_finite(distance);
  if (grid.fine && distance > 0.0f) grid.scale = FLOAT((BITS(distance) + 0x20000u) & ~0x3FFFFu);
  grid.fine = grid.fine && is_finite(ADD(grid.scale, grid.minimum));
  return grid;
}

FUNCTION u32 header_of(Grid grid) { return BITS(grid.minimum) | (BITS(grid.scale) >> 18); }

// Random bits from a key and the numbers of elements in their chunk. Columns lie within eight.
FUNCTION Columns fraction_of(u32 first, u32 second, u32 element) {
  Columns x = (element / 16u * 8u + element % 8u + EACH_COLUMN) ^ first;
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = ((x ^ (x >> 15)) + second) * 0x846CA68Bu;
  x ^= x >> 16;
  return element % 16u < 8u ? x & 0x3FFFu : x >> 18;
}

FUNCTION Columns code_of(FloatColumns values, Grid grid, float levels, u32 stochastic,
                         Columns fraction) {
  if (stochastic) {
    FloatColumns steps =
        MUL_COLUMNS(SUB_COLUMNS(values, grid.minimum), MUL(grid.inverse, FRACTIONS));
    const float most = MUL(levels, FRACTIONS);
    const Columns inside = IS_FLOAT_LESS_COLUMNS(steps, most);
    steps = COLUMNS_FLOAT((COLUMNS_BITS(steps) & inside) | (BITS(most) & ~inside));
    return (COLUMNS_BITS(ADD_COLUMNS(steps, ROUNDER)) - ROUNDER_BITS + fraction) >> 14;
  }
  return COLUMNS_BITS(ADD_COLUMNS(MUL_COLUMNS(SUB_COLUMNS(values, grid.minimum), grid.inverse),
                                ROUNDER)) -
         ROUNDER_BITS;
}

// Of a column.
FUNCTION u32 words_for(u32 count, u32 bits) { return ((count + 7u) / 8u * bits + 31u) / 32u; }
FUNCTION u32 group_bytes(u32 count, u32 bits) {
  return HEADER + words_for(count, bits) * WORDS_BYTES;
}

// Sums over a group in the order of 16 lanes: value i belongs to lane i mod 16.
FUNCTION float sum_of_lanes(LOCAL const float* lanes) {
  float eight[8], four[4];
  for (u32 i = 0; i < 8u; ++i) eight[i] = ADD(lanes[i], lanes[i + 8u]);
  for (u32 i = 0; i < 4u; ++i) four[i] = ADD(eight[i], eight[i + 4u]);
  return ADD(ADD(four[0], four[2]), ADD(four[1], four[3]));
}

// A tile of a chunk. `unfit` counts the groups of each chunk that cannot be coded. The two halves
// of a chunk's key are in its place.
KERNEL(quantize)(GLOBAL const float* values, u64 offset, GLOBAL const ChunkPlace* places,
                 GLOBAL const u32* chunk_of_tile, GLOBAL const QuantizeShape* shapes,
                 GLOBAL u8* bytes, GLOBAL u32* unfit) {
  LOCAL_MEMORY float staged[8192 + 256];
  LOCAL_MEMORY float lows[512], highs[512];
  LOCAL_MEMORY Grid grids[32];
  const QuantizeShape shape = shapes[0];
  const ChunkPlace chunk = places[chunk_of_tile[GROUP]];
  const u32 t = THREAD;
  const u32 rows = shape.groups_in_tile, row = shape.group + ROW_PADDING;
  const u32 tile_first = (GROUP - chunk.first_tile) * rows * shape.group;
  const u32 here = least(chunk.count - tile_first, rows * shape.group);
  SHARE(i, 0u, here) {
    staged[PLACE_IN_TILE(i, shape.group, row)] = values[offset + chunk.first + tile_first + i];
  }
  BARRIER();

  // Teams of eight columns: part `team % parts` of row `team / parts`. A thread has one column of
  // a team, or all of them.
  const u32 parts = 32u / rows;
  const u32 team = t / (8u / COLUMNS), lane = t % (8u / COLUMNS) * COLUMNS;
  const u32 my_row = team / parts, part = team % parts;
  const u32 row_first = my_row * shape.group;
  const int active = my_row < rows && row_first < here;
  const u32 count = active ? least(here - row_first, shape.group) : 0u;
  LOCAL float* const mine = staged + my_row * row;
  const u32 words = words_for(count, shape.bits);
  const float levels = (float)((1u << shape.bits) - 1u);
  const int means = shape.bits == 1u && !shape.stochastic;
  const int first_of_row = active && part == 0u && lane == 0u;
  if (first_of_row) {  // the last eight are filled up
    for (u32 i = count; i % 8u != 0u; ++i) mine[i] = mine[count - 1u];
  }
  BARRIER();

  if (!means) {
    if (active) {
      FloatColumns low = LOAD_COLUMNS(mine + lane), high = low;
      Columns infinite = 0u;
      for (u32 i = part * 8u + lane; i < count; i += parts * 8u) {
        const FloatColumns x = LOAD_COLUMNS(mine + i);
        const Columns below = IS_FLOAT_LESS_COLUMNS(x, low);
        const Columns above = IS_FLOAT_LESS_COLUMNS(high, x);
        low = COLUMNS_FLOAT((COLUMNS_BITS(x) & below) | (COLUMNS_BITS(low) & ~below));
        high = COLUMNS_FLOAT((COLUMNS_BITS(x) & above) | (COLUMNS_BITS(high) & ~above));
        infinite |= ~IS_LESS_COLUMNS(COLUMNS_BITS(x) & 0x7FFFFFFFu, 0x7F800000u);
      }
      // What is not finite must not get lost in a comparison.
      low = COLUMNS_FLOAT((COLUMNS_BITS(low) & ~infinite) | (0x7FC00000u & infinite));
      STORE_COLUMNS(low, lows + 8u * team + lane);
      STORE_COLUMNS(high, highs + 8u * team + lane);
    }
    BARRIER();
    if (first_of_row) {
      const u32 at = 8u * team;
      float low = lows[at], high = highs[at];
      u32 all = is_finite(low);
      for (u32 k = 1; k < 8u * parts; ++k) {
        all &= is_finite(lows[at + k]);
        low = lows[at + k] < low ? lows[at + k] : low;
        high = highs[at + k] > high ? highs[at + k] : high;
      }
      Grid grid = grid_of_range(low, high, levels);
      grid.fine = grid.fine && all;
      grids[my_row] = grid;
    }
    BARRIER();
  } else {
    // Sums in a stated order: part 0 has all of them, each column two lanes.
    if (active && part == 0u) {
      for (u32 own = lane; own < lane + COLUMNS; ++own) {
        float sums[2] = {0.0f, 0.0f};
        for (u32 i = own; i < count; i += 8u) sums[i / 8u % 2u] = ADD(sums[i / 8u % 2u], mine[i]);
        lows[my_row * 16u + own] = sums[0];
        lows[my_row * 16u + own + 8u] = sums[1];
      }
    }
    BARRIER();
    float threshold = 0.0f;
    if (active) {
      threshold = ADD(divide(sum_of_lanes(lows + my_row * 16u), (float)count), 0.0f);
      if (!is_finite(threshold)) threshold = FLOAT(0x7FC00000u);
    }
    BARRIER();
    if (active && part == 0u) {
      for (u32 own = lane; own < lane + COLUMNS; ++own) {
        float below[2] = {0.0f, 0.0f}, above[2] = {0.0f, 0.0f};
        for (u32 i = own; i < count; i += 8u) {
          const u32 which = i / 8u % 2u;
          const float distance = SUB(threshold, mine[i]);
          below[which] = ADD(below[which], distance > 0.0f ? distance : 0.0f);
          above[which] = ADD(above[which], distance < 0.0f ? distance : 0.0f);
        }
        lows[my_row * 16u + own] = below[0];
        lows[my_row * 16u + own + 8u] = below[1];
        highs[my_row * 16u + own] = above[0];
        highs[my_row * 16u + own + 8u] = above[1];
      }
    }
    BARRIER();
    if (first_of_row) {
      u32 count_above = 0, finite = 1;
      for (u32 i = 0; i < count; ++i) {
        finite &= is_finite(mine[i]);
        count_above += SUB(threshold, mine[i]) < 0.0f;
      }
      const u32 count_below = count - count_above;
      Grid grid;
      grid.fine = 0;
      if (finite && is_finite(threshold)) {
        const float low = count_below > 0u
                              ? SUB(threshold, divide(sum_of_lanes(lows + my_row * 16u),
                                                      (float)count_below))
                              : threshold;
        const float high = count_above > 0u
                               ? SUB(threshold, divide(sum_of_lanes(highs + my_row * 16u),
                                                       (float)count_above))
                               : low;
        if (is_finite(low) && is_finite(high)) grid = grid_of_means(low, high);
      }
      grid.inverse = threshold;  // codes are sides of it
      grids[my_row] = grid;
    }
    BARRIER();
  }

  if (!active) return;
  const Grid grid = grids[my_row];
  if (!grid.fine) {
    if (part == 0u && lane == 0u) REPORT(&unfit[chunk_of_tile[GROUP]], 1u);
    return;
  }
  const u64 whole = group_bytes(shape.group, shape.bits);
  GLOBAL u32* const record =
      (GLOBAL u32*)(bytes + chunk.payload + (tile_first / shape.group + my_row) * whole);
  if (part == 0u && lane == 0u) record[0] = header_of(grid);
  for (u32 w = part; w < words; w += parts) {
    // The rows whose codes have a bit in this word.
    const u32 last_row = least((32u * w + 31u) / shape.bits, (count - 1u) / 8u);
    Columns word = 0u;
    for (u32 r = 32u * w / shape.bits; r <= last_row; ++r) {
      const u32 i = 8u * r + lane;
      const FloatColumns x = LOAD_COLUMNS(mine + i);
      Columns code;
      if (means) {
        code = COLUMNS_BITS(SUB_COLUMNS(grid.inverse, x)) >> 31;  // below 0, and never -0
      } else {
        Columns fraction = 0u;
        if (shape.stochastic) {
          fraction = fraction_of(chunk.detail, chunk.reserved, tile_first + row_first + i);
        }
        code = code_of(x, grid, levels, shape.stochastic, fraction);
      }
      if (8u * r + 8u > count) code &= IS_LESS_COLUMNS(i + EACH_COLUMN, count);
      const u32 bit = r * shape.bits;
      word |= bit < 32u * w ? code >> (32u * w - bit) : code << (bit - 32u * w);
    }
    STORE_COLUMNS(word, record + 1u + 8u * w + lane);
  }
}

// A tile of a chunk. Any bytes give some values; grids that are not finite the host refuses before.
KERNEL(dequantize)(GLOBAL const u8* bytes, GLOBAL const ChunkPlace* places,
                   GLOBAL const u32* chunk_of_tile, GLOBAL const QuantizeShape* shapes,
                   GLOBAL float* values, u64 offset) {
  const QuantizeShape shape = shapes[0];
  const ChunkPlace chunk = places[chunk_of_tile[GROUP]];
  if (chunk.kind != CHUNK_CODED) return;
  const u32 tile = shape.groups_in_tile * shape.group;
  const u32 tile_first = (GROUP - chunk.first_tile) * tile;
  const u32 here = least(chunk.count - tile_first, tile);
  const u32 levels = (1u << shape.bits) - 1u;
  const u64 whole = group_bytes(shape.group, shape.bits);
  SHARE(k, 0u, (here + COLUMNS - 1u) / COLUMNS) {
    const u32 element = tile_first + COLUMNS * k, group = element / shape.group;
    const u32 at = element - group * shape.group;
    GLOBAL const u32* const record = (GLOBAL const u32*)(bytes + chunk.payload + group * whole);
    const u32 header = record[0];
    const u32 bit = at / 8u * shape.bits, shift = bit % 32u;
    GLOBAL const u32* const word = record + 1u + bit / 32u * 8u + at % 8u;
    Columns code = LOAD_COLUMNS(word) >> shift;
    if (shift + shape.bits > 32u) code |= LOAD_COLUMNS(word + 8u) << (32u - shift);
    code &= levels;
    const float minimum = FLOAT(header & ~0x1FFFu), scale = FLOAT((header & 0x1FFFu) << 18);
    const FloatColumns x = ADD_COLUMNS(MUL_COLUMNS(COLUMNS_CONVERTED(code), scale), minimum);
    GLOBAL float* const to = values + offset + chunk.first + element;
    if (COLUMNS * k + COLUMNS <= here) {
      STORE_COLUMNS(x, to);
    } else {
      float last[COLUMNS];
      STORE_COLUMNS(x, last);
      for (u32 i = 0; COLUMNS * k + i < here; ++i) to[i] = last[i];
    }
  }
}
