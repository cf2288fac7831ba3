// Codec dct-chop (src/codecs/dct_chop, src/kernels/block_transform): blocks of 8 x 8 or 4 x 4 f32
// values to their low frequencies and back, in the order of operations of block_transform_ref.cc.
//
// A group of threads has a slab of a chunk (codecs/dct_chop/slabs.h), some rows of blocks, because
// the error that a stream states is a sum whose order is by slabs and sixteen lanes. It walks over
// pieces of 256 columns: a pass along the columns into local memory, a pass along the rows out of
// it. One read of the values and one write of the coefficients.
#define DCT_A FLOAT(0x3EB504F3u)  /* the constants of block_transform/constants.h */
#define DCT_C1 FLOAT(0x3EFB14BEu)
#define DCT_C2 FLOAT(0x3EEC835Eu)
#define DCT_C3 FLOAT(0x3ED4DB31u)
#define DCT_C5 FLOAT(0x3E8E39DAu)
#define DCT_C6 FLOAT(0x3E43EF15u)
#define DCT_C7 FLOAT(0x3DC7C5C2u)
#define SQRT_HALF FLOAT(0x3F3504F3u)

#define SQUARE_LAYOUT 0u
#define TRIANGLE_LAYOUT 1u
#define LINEAR_LAYOUT 2u
#define AS_F32 0u
#define AS_BF16 1u
#define AS_F16 2u

typedef struct {
  u32 points;  // 8, or 4 for ZFP's transform
  u32 keep;    // the chop factor
  u32 layout;
  u32 stored;  // as f32, bf16, f16
} ChopShape;

typedef struct {
  u32 height, width;       // of a plane; a line has height 1
  u32 block_rows, blocks;  // of a plane, and in a row
  u32 first_slab;          // counted over all chunks
  u32 slab_rows;           // block rows of a slab; of a line, values
  u32 total_rows;          // block rows of all planes; of a line, values with padding
  u32 lane_rows;           // after so many block rows lanes begin anew (Tiling::block_rows)
  u32 row_length;          // of the rows whose errors are measured, one by one
  u32 first_row_group;     // 32 rows each, counted over all chunks
} ChopChunk;

#define PIECE 256u             // columns
#define GROUPS_STRIDE 260u     // of rows in local memory: 8 x 32 of them, and other banks

typedef FloatColumns V;
#define PLUS(a, b) ADD_COLUMNS((a), (b))
#define MINUS(a, b) SUB_COLUMNS((a), (b))
#define TIMES(a, b) MUL_COLUMNS((a), (b))
#define SQUARED(a) MUL_COLUMNS((a), (a))

// y[0..8) from x; returns the sum of squares of y[keep..8).
FUNCTION V dct_forward(u32 keep, const V* x, V* y) {
  const V s0 = PLUS(x[0], x[7]), s1 = PLUS(x[1], x[6]), s2 = PLUS(x[2], x[5]),
          s3 = PLUS(x[3], x[4]);
  const V d0 = MINUS(x[0], x[7]), d1 = MINUS(x[1], x[6]), d2 = MINUS(x[2], x[5]),
          d3 = MINUS(x[3], x[4]);
  const V a0 = PLUS(s0, s3), a1 = PLUS(s1, s2), b0 = MINUS(s0, s3), b1 = MINUS(s1, s2);
  const V p = MINUS(TIMES(d0, DCT_C3), TIMES(d3, DCT_C5));
  const V q = PLUS(TIMES(d0, DCT_C5), TIMES(d3, DCT_C3));
  const V r = PLUS(TIMES(d1, DCT_C7), TIMES(d2, DCT_C1));
  const V t = MINUS(TIMES(d1, DCT_C1), TIMES(d2, DCT_C7));
  const V m = PLUS(p, r), n = PLUS(q, t);
  y[0] = TIMES(PLUS(a0, a1), DCT_A);
  y[4] = TIMES(MINUS(a0, a1), DCT_A);
  y[2] = PLUS(TIMES(b0, DCT_C2), TIMES(b1, DCT_C6));
  y[6] = MINUS(TIMES(b0, DCT_C6), TIMES(b1, DCT_C2));
  y[1] = TIMES(PLUS(m, n), SQRT_HALF);
  y[7] = TIMES(MINUS(m, n), SQRT_HALF);
  y[3] = MINUS(p, r);
  y[5] = MINUS(q, t);
  V dropped = 0.0f;
  const V even = TIMES(PLUS(SQUARED(b0), SQUARED(b1)), 0.25f);
  if (keep == 1u) {
    const V odd = TIMES(PLUS(PLUS(SQUARED(d0), SQUARED(d1)), PLUS(SQUARED(d2), SQUARED(d3))), 0.5f);
    dropped = PLUS(SQUARED(y[4]), PLUS(even, odd));
  } else if (keep == 2u) {
    dropped = PLUS(PLUS(SQUARED(y[4]), even),
                   PLUS(SQUARED(y[3]), PLUS(SQUARED(y[5]), SQUARED(y[7]))));
  } else {
    int first = 1;
#pragma unroll
    for (u32 v = 3; v < 8u; ++v) {
      if (v < keep) continue;
      dropped = first ? SQUARED(y[v]) : PLUS(dropped, SQUARED(y[v]));
      first = 0;
    }
  }
  return dropped;
}

FUNCTION void dct_inverse(u32 kept, const V* y, V* x) {
  V e[4], o[4];
  e[0] = TIMES(y[0], DCT_A);
  e[1] = e[0];
  if (kept > 4u) {
    const V y4 = TIMES(y[4], DCT_A);
    e[1] = MINUS(e[0], y4);
    e[0] = PLUS(e[0], y4);
  }
  e[2] = e[1];
  e[3] = e[0];
  if (kept > 2u) {
    V u = TIMES(y[2], DCT_C2), v = TIMES(y[2], DCT_C6);
    if (kept > 6u) {
      u = PLUS(u, TIMES(y[6], DCT_C6));
      v = MINUS(v, TIMES(y[6], DCT_C2));
    }
    e[3] = MINUS(e[0], u);
    e[0] = PLUS(e[0], u);
    e[2] = MINUS(e[1], v);
    e[1] = PLUS(e[1], v);
  }
  if (kept == 1u) {
#pragma unroll
    for (u32 k = 0; k < 4u; ++k) {
      x[k] = e[k];
      x[7u - k] = e[k];
    }
    return;
  }
  if (kept < 6u) {
    o[0] = TIMES(y[1], DCT_C1);
    o[1] = TIMES(y[1], DCT_C3);
    o[2] = TIMES(y[1], DCT_C5);
    o[3] = TIMES(y[1], DCT_C7);
    if (kept > 3u) {
      o[0] = PLUS(o[0], TIMES(y[3], DCT_C3));
      o[1] = MINUS(o[1], TIMES(y[3], DCT_C7));
      o[2] = MINUS(o[2], TIMES(y[3], DCT_C1));
      o[3] = MINUS(o[3], TIMES(y[3], DCT_C5));
    }
  } else {
    V m = TIMES(y[1], SQRT_HALF), n = m;
    if (kept > 7u) {
      m = TIMES(PLUS(y[1], y[7]), SQRT_HALF);
      n = TIMES(MINUS(y[1], y[7]), SQRT_HALF);
    }
    const V p = PLUS(m, y[3]), r = MINUS(m, y[3]), q = PLUS(n, y[5]), t = MINUS(n, y[5]);
    o[0] = PLUS(TIMES(p, DCT_C3), TIMES(q, DCT_C5));
    o[1] = PLUS(TIMES(r, DCT_C7), TIMES(t, DCT_C1));
    o[2] = MINUS(TIMES(r, DCT_C1), TIMES(t, DCT_C7));
    o[3] = MINUS(TIMES(q, DCT_C3), TIMES(p, DCT_C5));
  }
#pragma unroll
  for (u32 k = 0; k < 4u; ++k) {
    x[k] = PLUS(e[k], o[k]);
    x[7u - k] = MINUS(e[k], o[k]);
  }
}

FUNCTION void zfp_forward(const V* x, V* y) {
  const V s0 = PLUS(x[0], x[3]), s1 = PLUS(x[1], x[2]), d0 = MINUS(x[0], x[3]),
          d1 = MINUS(x[1], x[2]);
  y[0] = TIMES(PLUS(s0, s1), 0.25f);
  y[1] = PLUS(TIMES(d0, 0.3125f), TIMES(d1, 0.0625f));
  y[2] = TIMES(MINUS(s1, s0), 0.25f);
  y[3] = MINUS(TIMES(d1, 0.375f), TIMES(d0, 0.125f));
}

FUNCTION void zfp_inverse(u32 kept, const V* y, V* x) {
  if (kept == 1u) {
    x[0] = y[0];
    x[1] = y[0];
    x[2] = y[0];
    x[3] = y[0];
    return;
  }
  const V e0 = kept > 2u ? MINUS(y[0], y[2]) : y[0], e1 = kept > 2u ? PLUS(y[0], y[2]) : y[0];
  V o0 = TIMES(y[1], 1.5f), o1 = TIMES(y[1], 0.5f);
  if (kept > 3u) {
    o0 = MINUS(o0, TIMES(y[3], 0.25f));
    o1 = PLUS(o1, TIMES(y[3], 1.25f));
  }
  x[0] = PLUS(e0, o0);
  x[3] = MINUS(e0, o0);
  x[1] = PLUS(e1, o1);
  x[2] = MINUS(e1, o1);
}

FUNCTION V forward(u32 points, u32 keep, const V* x, V* y) {
  V dropped = 0.0f;
  if (points == 8u) {
    dropped = dct_forward(keep, x, y);
  } else {
    zfp_forward(x, y);
  }
  return dropped;
}

FUNCTION void inverse(u32 points, u32 kept, const V* y, V* x) {
  if (points == 8u) {
    dct_inverse(kept, y, x);
  } else {
    zfp_inverse(kept, y, x);
  }
}

// What a group of threads works on.
typedef struct {
  u32 first_block, end_block;  // of the slab, counted over the chunk's planes row by row
  u32 step;                    // blocks of a piece
} Slab;

FUNCTION Slab slab_of(ChopShape shape, ChopChunk chop, u32 number) {
  Slab slab;
  const u32 first = (number - chop.first_slab) * chop.slab_rows;
  const u32 end = least(first + chop.slab_rows, chop.total_rows);
  const u32 most = PIECE / shape.points;
  if (shape.layout == LINEAR_LAYOUT) {
    slab.first_block = first / shape.points;
    slab.end_block = end / shape.points;
    slab.step = most;
  } else {
    slab.first_block = first * chop.blocks;
    slab.end_block = end * chop.blocks;
    // Whole block rows, where lanes run through them row by row.
    slab.step = chop.blocks <= most ? most / chop.blocks * chop.blocks : most;
  }
  return slab;
}

// Where row `row` of column `column` of a block lies in the chunk; with padding, or 0xFFFFFFFF
// where there is only padding and `padding` is not asked for.
FUNCTION u32 element_of(ChopShape shape, ChopChunk chop, u32 block, u32 row, u32 column,
                        int padding) {
  if (shape.layout == LINEAR_LAYOUT) {
    const u32 at = block * shape.points + column;
    if (at >= chop.width) return padding ? chop.width - 1u : 0xFFFFFFFFu;
    return at;
  }
  const u32 block_row = block / chop.blocks, plane = block_row / chop.block_rows;
  u32 y = (block_row - plane * chop.block_rows) * shape.points + row;
  u32 x = (block - block_row * chop.blocks) * shape.points + column;
  if ((y >= chop.height || x >= chop.width) && !padding) return 0xFFFFFFFFu;
  y = least(y, chop.height - 1u);
  x = least(x, chop.width - 1u);
  return (plane * chop.height + y) * chop.width + x;
}

// Whether all of a thread's columns lie side by side in memory, without padding.
FUNCTION int is_inside(ChopShape shape, ChopChunk chop, u32 block) {
  if (COLUMNS == 1u || shape.points != 8u || shape.layout == LINEAR_LAYOUT) return 0;
  const u32 block_row = block / chop.blocks;
  const u32 y = block_row % chop.block_rows * 8u, x = (block - block_row * chop.blocks) * 8u;
  return y + 8u <= chop.height && x + 8u <= chop.width;
}

// The first coefficient of row `u` of a block, and how many it keeps.
FUNCTION u32 kept_of_row(ChopShape shape, u32 u) {
  return shape.layout == TRIANGLE_LAYOUT ? shape.keep - u : shape.keep;
}
FUNCTION u32 place_of_row(ChopShape shape, ChopChunk chop, u32 block, u32 u) {
  const u32 keep = shape.keep;
  if (shape.layout == TRIANGLE_LAYOUT) {
    return block * (keep * (keep + 1u) / 2u) + u * keep - u * (u - 1u) / 2u;
  }
  if (shape.layout == LINEAR_LAYOUT) return block * keep;
  const u32 block_row = block / chop.blocks;
  return ((block_row * keep + u) * chop.blocks + (block - block_row * chop.blocks)) * keep;
}

FUNCTION void put(ChopShape shape, GLOBAL u8* payload, u32 at, float value) {
  if (shape.stored == AS_F32) {
    ((GLOBAL float*)payload)[at] = value;
  } else {
    const u32 bits = BITS(value);
    ((GLOBAL u16*)payload)[at] = (u16)(shape.stored == AS_F16 ? f16_of(bits) : bf16_of(bits));
  }
}
FUNCTION float get(ChopShape shape, GLOBAL const u8* payload, u32 at) {
  if (shape.stored == AS_F32) return ((GLOBAL const float*)payload)[at];
  const u32 code = ((GLOBAL const u16*)payload)[at];
  return FLOAT(shape.stored == AS_F16 ? bits_of_f16(code) : code << 16);
}

// Sums of squares of a piece into lanes, in the order of block_transform_ref.cc. Sixteen threads.
FUNCTION void add_to_lanes(ChopShape shape, ChopChunk chop, Slab slab, u32 first, u32 count,
                           LOCAL const float* columns, LOCAL const float* dropped,
                           LOCAL const float* kept, LOCAL float* lanes) {
  const u32 lane = THREAD, keep = shape.keep, stride = PIECE / shape.points;
  float column_sum = lanes[lane], dropped_sum = lanes[16u + lane], kept_sum = lanes[32u + lane];
  const int line = shape.layout == LINEAR_LAYOUT;
  // Lanes go on from block to block within a row, or over the rows of a narrow plane.
  const int narrow = chop.blocks <= 16u;
  for (u32 i = 0; i < count; ++i) {
    const u32 block = first + i, row = block / chop.blocks, x = block - row * chop.blocks;
    if (line) {
      if ((block - slab.first_block) % 16u == lane) {
        dropped_sum = ADD(dropped_sum, dropped[i]);
        kept_sum = ADD(kept_sum, kept[i]);
      }
      continue;
    }
    if (x % 2u == lane / 8u) column_sum = ADD(column_sum, columns[8u * i + lane % 8u]);
    const u32 own_row = (row - slab.first_block / chop.blocks) % chop.lane_rows;
    if (shape.layout == TRIANGLE_LAYOUT) {
      const u32 own = narrow ? own_row * chop.blocks + x : x;
      if (own % 16u != lane) continue;
      float block_dropped = 0.0f, block_kept = 0.0f;
      for (u32 u = 0; u < keep; ++u) {
        block_dropped = ADD(block_dropped, dropped[u * stride + i]);
        block_kept = ADD(block_kept, kept[u * stride + i]);
      }
      dropped_sum = ADD(dropped_sum, block_dropped);
      kept_sum = ADD(kept_sum, block_kept);
    } else if (!narrow) {
      if (x % 16u != lane) continue;
      for (u32 u = 0; u < keep; ++u) {
        dropped_sum = ADD(dropped_sum, dropped[u * stride + i]);
        kept_sum = ADD(kept_sum, kept[u * stride + i]);
      }
    } else if (x == 0u) {  // a whole block row: groups of 8 coefficients one after the other
      const u32 groups = keep * chop.blocks;
      for (u32 g = (lane - own_row * groups) % 16u; g < groups; g += 16u) {
        const u32 u = g / chop.blocks, at = u * stride + i + (g - u * chop.blocks);
        dropped_sum = ADD(dropped_sum, dropped[at]);
        kept_sum = ADD(kept_sum, kept[at]);
      }
    }
  }
  lanes[lane] = column_sum;
  lanes[16u + lane] = dropped_sum;
  lanes[32u + lane] = kept_sum;
}

// `energies` has 48 sums a slab: dropped by columns, dropped by rows, kept, in 16 lanes each.
KERNEL(chop)(GLOBAL const float* values, u64 offset, GLOBAL const ChunkPlace* places,
             GLOBAL const u32* chunk_of_slab, GLOBAL const ChopShape* shapes,
             GLOBAL const ChopChunk* chops, GLOBAL u8* bytes, GLOBAL float* energies) {
  LOCAL_MEMORY float rows[8 * 260];
  LOCAL_MEMORY float column_dropped[256], row_dropped[256], row_kept[256];
  LOCAL_MEMORY float lanes[48];
  const ChunkPlace chunk = places[chunk_of_slab[GROUP]];
  const ChopChunk chop = chops[chunk_of_slab[GROUP]];
  const ChopShape shape = shapes[0];
  const Slab slab = slab_of(shape, chop, GROUP);
  GLOBAL const float* const from = values + offset + chunk.first;
  const u32 points = shape.points, most = PIECE / points;
  const u32 kept_rows = shape.layout == LINEAR_LAYOUT ? 1u : shape.keep;
  if (THREAD < 48u) lanes[THREAD] = 0.0f;
  for (u32 first = slab.first_block; first < slab.end_block; first += slab.step) {
    const u32 count = least(slab.end_block - first, slab.step);
    BARRIER();
    SHARE(c, 0u, count * points / COLUMNS + (count * points % COLUMNS != 0u)) {
      const u32 q = c * COLUMNS;
      V x[8], y[8];
      if (is_inside(shape, chop, first + q / points)) {
        GLOBAL const float* const own =
            from + element_of(shape, chop, first + q / points, 0u, 0u, 1);
#pragma unroll
        for (u32 i = 0; i < 8u; ++i) x[i] = LOAD_COLUMNS(own + i * chop.width);
      } else {
        const u32 last = count * points - 1u;
#pragma unroll
        for (u32 i = 0; i < 8u; ++i) {
          float one[COLUMNS];
          for (u32 k = 0; k < COLUMNS; ++k) {
            const u32 at = least(q + k, last);
            one[k] = from[element_of(shape, chop, first + at / points, least(i, points - 1u),
                                     at % points, 1)];
          }
          x[i] = LOAD_COLUMNS(one);
        }
      }
      V dropped = 0.0f;
      if (shape.layout == LINEAR_LAYOUT) {
        y[0] = x[0];
      } else {
        dropped = forward(points, shape.keep, x, y);
      }
      STORE_COLUMNS(dropped, column_dropped + q);
#pragma unroll
      for (u32 u = 0; u < 8u; ++u) {
        if (u < kept_rows) {
          float one[COLUMNS];
          STORE_COLUMNS(y[u], one);
          for (u32 k = 0; k < COLUMNS; ++k) {
            rows[(q + k) % points * GROUPS_STRIDE + u * most + (q + k) / points] = one[k];
          }
        }
      }
    }
    BARRIER();
    SHARE(g, 0u, kept_rows * most / COLUMNS) {
      const u32 group = g * COLUMNS, u = group / most, block = group - u * most;
      if (block < count) {
        const u32 kept = kept_of_row(shape, u);
        V x[8], y[8];
#pragma unroll
        for (u32 j = 0; j < 8u; ++j) {
          if (j < points) x[j] = LOAD_COLUMNS(rows + j * GROUPS_STRIDE + group);
        }
        const V dropped = forward(points, kept, x, y);
        V sum = SQUARED(y[0]);
        STORE_COLUMNS(dropped, row_dropped + group);
#pragma unroll
        for (u32 v = 0; v < 8u; ++v) {
          if (v < kept) {
            if (v > 0u) sum = PLUS(sum, SQUARED(y[v]));
            float one[COLUMNS];
            STORE_COLUMNS(y[v], one);
            for (u32 k = 0; k < COLUMNS && block + k < count; ++k) {
              put(shape, bytes + chunk.payload,
                  place_of_row(shape, chop, first + block + k, u) + v, one[k]);
            }
          }
        }
        STORE_COLUMNS(sum, row_kept + group);
      }
    }
    BARRIER();
    if (THREAD < 16u && points == 8u) {
      add_to_lanes(shape, chop, slab, first, count, column_dropped, row_dropped, row_kept, lanes);
    }
  }
  BARRIER();
  if (THREAD < 48u) energies[GROUP * 48u + THREAD] = lanes[THREAD];
}

// A slab of a chunk. Any bytes give some values.
KERNEL(unchop)(GLOBAL const u8* bytes, GLOBAL const ChunkPlace* places,
               GLOBAL const u32* chunk_of_slab, GLOBAL const ChopShape* shapes,
               GLOBAL const ChopChunk* chops, GLOBAL float* values, u64 offset) {
  LOCAL_MEMORY float rows[8 * 260];
  const ChunkPlace chunk = places[chunk_of_slab[GROUP]];
  if (chunk.kind != CHUNK_CODED) return;
  const ChopChunk chop = chops[chunk_of_slab[GROUP]];
  const ChopShape shape = shapes[0];
  const Slab slab = slab_of(shape, chop, GROUP);
  GLOBAL float* const to = values + offset + chunk.first;
  const u32 points = shape.points, most = PIECE / points;
  const u32 kept_rows = shape.layout == LINEAR_LAYOUT ? 1u : shape.keep;
  for (u32 first = slab.first_block; first < slab.end_block; first += slab.step) {
    const u32 count = least(slab.end_block - first, slab.step);
    BARRIER();
    SHARE(g, 0u, kept_rows * most / COLUMNS) {
      const u32 group = g * COLUMNS, u = group / most, block = group - u * most;
      if (block < count) {
        const u32 kept = kept_of_row(shape, u);
        V x[8], y[8];
#pragma unroll
        for (u32 v = 0; v < 8u; ++v) {
          y[v] = 0.0f;
          if (v < kept) {
            float one[COLUMNS];
            for (u32 k = 0; k < COLUMNS; ++k) {
              const u32 own = least(block + k, count - 1u);
              one[k] = get(shape, bytes + chunk.payload,
                           place_of_row(shape, chop, first + own, u) + v);
            }
            y[v] = LOAD_COLUMNS(one);
          }
        }
        inverse(points, kept, y, x);
#pragma unroll
        for (u32 j = 0; j < 8u; ++j) {
          if (j < points) STORE_COLUMNS(x[j], rows + j * GROUPS_STRIDE + group);
        }
      }
    }
    BARRIER();
    SHARE(c, 0u, count * points / COLUMNS + (count * points % COLUMNS != 0u)) {
      const u32 q = c * COLUMNS;
      V x[8], y[8];
#pragma unroll
      for (u32 u = 0; u < 8u; ++u) {
        y[u] = 0.0f;
        if (u < kept_rows) {
          float one[COLUMNS];
          for (u32 k = 0; k < COLUMNS; ++k) {
            const u32 at = least(q + k, count * points - 1u);
            one[k] = rows[at % points * GROUPS_STRIDE + u * most + at / points];
          }
          y[u] = LOAD_COLUMNS(one);
        }
      }
      if (shape.layout == LINEAR_LAYOUT) {
        x[0] = y[0];
      } else {
        inverse(points, shape.keep, y, x);
      }
      if (is_inside(shape, chop, first + q / points)) {
        GLOBAL float* const own = to + element_of(shape, chop, first + q / points, 0u, 0u, 1);
#pragma unroll
        for (u32 i = 0; i < 8u; ++i) STORE_COLUMNS(x[i], own + i * chop.width);
      } else {
        const u32 heights = shape.layout == LINEAR_LAYOUT ? 1u : points;
#pragma unroll
        for (u32 i = 0; i < 8u; ++i) {
          if (i < heights) {
            float one[COLUMNS];
            STORE_COLUMNS(x[i], one);
            for (u32 k = 0; k < COLUMNS; ++k) {
              const u32 at = q + k;
              if (at < count * points) {
                const u32 element =
                    element_of(shape, chop, first + at / points, i, at % points, 0);
                if (element != 0xFFFFFFFFu) to[element] = one[k];
              }
            }
          }
        }
      }
    }
  }
}

#if defined(cl_khr_fp64) || !defined(__OPENCL_VERSION__)
// Sum of squared differences of each row, in the order of src/kernels/squared_error: eight sums,
// element i in sum i mod 8, added up at the end.
KERNEL(row_errors)(GLOBAL const float* values, u64 offset, GLOBAL const float* decoded,
                   GLOBAL const ChunkPlace* places, GLOBAL const u32* chunk_of_group,
                   GLOBAL const ChopChunk* chops, GLOBAL double* errors) {
  LOCAL_MEMORY double sums[256];
  const ChunkPlace chunk = places[chunk_of_group[GROUP]];
  const ChopChunk chop = chops[chunk_of_group[GROUP]];
  const u32 own = THREAD / (8u / COLUMNS), lane = THREAD % (8u / COLUMNS) * COLUMNS;
  const u32 first = (32u * (GROUP - chop.first_row_group) + own) * chop.row_length;
  if (own < 32u && first < chunk.count) {
    const u32 count = least(chop.row_length, chunk.count - first);
    GLOBAL const float* const one = values + offset + chunk.first + first;
    GLOBAL const float* const other = decoded + (chunk.first - places[0].first) + first;
    double total[COLUMNS];
    SUM_SQUARED_DIFFERENCES(one, other, lane, count, total)
    for (u32 k = 0; k < COLUMNS; ++k) sums[8u * own + lane + k] = total[k];
  }
  BARRIER();
  if (THREAD < 32u) {
    double total = 0;
    for (u32 i = 0; i < 8u; ++i) total += sums[8u * THREAD + i];
    errors[32u * GROUP + THREAD] = total;
  }
}
#endif
