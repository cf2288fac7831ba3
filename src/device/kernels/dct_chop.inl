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

// So that nothing of a loop before seems to be needed.
FUNCTION void clear(V* x, V* y) {
#pragma unroll
  for (u32 i = 0; i < 8u; ++i) {
    x[i] = 0.0f;
    y[i] = 0.0f;
  }
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

// What a group of threads works on. It is kept in local memory and read anew after every barrier:
// some drivers copy what is alive across a barrier for each thread.
typedef struct {
  ChopShape shape;
  ChopChunk chop;
  u64 first, payload;          // of the chunk
  u32 first_block, end_block;  // of the slab, counted over the chunk's planes row by row
  u32 step;                    // blocks of a piece
  u32 bits;                    // of `points`
  u32 kept_rows;
} Slab;

// Of each block of a piece.
typedef struct {
  u32 element, inside;  // the first one of its elements, and whether there is no padding
  u32 place;            // of its first coefficient
  u32 x, row;           // in its row, and which row since lanes began anew
} PieceBlock;

FUNCTION void begin_slab(GLOBAL const ChunkPlace* chunk, GLOBAL const ChopChunk* chunk_chop,
                         GLOBAL const ChopShape* shapes, LOCAL Slab* slab) {
  const ChopShape shape = shapes[0];
  const ChopChunk chop = *chunk_chop;
  const u32 bits = shape.points == 8u ? 3u : 2u;
  const u32 first = (GROUP - chop.first_slab) * chop.slab_rows;
  const u32 end = least(first + chop.slab_rows, chop.total_rows);
  const u32 most = PIECE >> bits;
  slab->shape = shape;
  slab->chop = chop;
  slab->first = chunk->first;
  slab->payload = chunk->payload;
  slab->bits = bits;
  if (shape.layout == LINEAR_LAYOUT) {
    slab->first_block = first >> bits;
    slab->end_block = end >> bits;
    slab->step = most;
    slab->kept_rows = 1u;
  } else {
    slab->first_block = first * chop.blocks;
    slab->end_block = end * chop.blocks;
    // Whole block rows, where lanes run through them row by row.
    slab->step = chop.blocks <= most ? most / chop.blocks * chop.blocks : most;
    slab->kept_rows = shape.keep;
  }
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

// How many coefficients row `u` of a block keeps, and where they lie behind the block's first.
FUNCTION u32 kept_of_row(ChopShape shape, u32 u) {
  return shape.layout == TRIANGLE_LAYOUT ? shape.keep - u : shape.keep;
}
FUNCTION u32 place_of_row(ChopShape shape, u32 blocks, u32 u) {
  if (shape.layout == TRIANGLE_LAYOUT) return u * shape.keep - u * (u - 1u) / 2u;
  return u * blocks * shape.keep;
}

FUNCTION PieceBlock block_of(ChopShape shape, ChopChunk chop, u32 first_block, u32 block) {
  PieceBlock own;
  const u32 keep = shape.keep;
  if (shape.layout == LINEAR_LAYOUT) {
    own.element = block * shape.points;
    own.inside = 0u;
    own.place = block * keep;
    own.x = block - first_block;
    own.row = 0u;
    return own;
  }
  const u32 row = block / chop.blocks, plane = row / chop.block_rows;
  const u32 y = (row - plane * chop.block_rows) * shape.points;
  own.x = block - row * chop.blocks;
  own.row = (row - first_block / chop.blocks) % chop.lane_rows;
  own.element = (plane * chop.height + y) * chop.width + own.x * shape.points;
  own.inside = y + shape.points <= chop.height && (own.x + 1u) * shape.points <= chop.width;
  own.place = shape.layout == TRIANGLE_LAYOUT ? block * (keep * (keep + 1u) / 2u)
                                              : (row * keep * chop.blocks + own.x) * keep;
  return own;
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
FUNCTION void add_to_lanes(ChopShape shape, u32 blocks, u32 count, LOCAL const PieceBlock* own,
                           LOCAL const float* columns, LOCAL const float* dropped,
                           LOCAL const float* kept, LOCAL float* lanes) {
  const u32 lane = THREAD, keep = shape.keep, stride = PIECE / 8u;
  float column_sum = lanes[lane], dropped_sum = lanes[16u + lane], kept_sum = lanes[32u + lane];
  if (shape.layout == SQUARE_LAYOUT && blocks <= 16u) {
    // Lanes go on over the rows of a narrow plane: groups of 8 values one after the other.
    const u32 groups = keep * blocks;
    for (u32 i = 0; i < count; i += blocks) {
      for (u32 g = (lane - own[i].row * groups) % 16u; g < groups; g += 16u) {
        const u32 u = g / blocks, at = u * stride + i + (g - u * blocks);
        dropped_sum = ADD(dropped_sum, dropped[at]);
        kept_sum = ADD(kept_sum, kept[at]);
      }
    }
  } else {
    const u32 across = shape.layout == TRIANGLE_LAYOUT && blocks <= 16u ? blocks : 0u;
    for (u32 i = 0; i < count; ++i) {
      if ((own[i].row * across + own[i].x) % 16u != lane) continue;
      if (shape.layout == SQUARE_LAYOUT) {
        for (u32 u = 0; u < keep; ++u) {
          dropped_sum = ADD(dropped_sum, dropped[u * stride + i]);
          kept_sum = ADD(kept_sum, kept[u * stride + i]);
        }
      } else {
        const u32 rows = shape.layout == LINEAR_LAYOUT ? 1u : keep;
        float block_dropped = 0.0f, block_kept = 0.0f;
        for (u32 u = 0; u < rows; ++u) {
          block_dropped = ADD(block_dropped, dropped[u * stride + i]);
          block_kept = ADD(block_kept, kept[u * stride + i]);
        }
        dropped_sum = ADD(dropped_sum, block_dropped);
        kept_sum = ADD(kept_sum, block_kept);
      }
    }
  }
  if (shape.layout != LINEAR_LAYOUT) {
    for (u32 i = 0; i < count; ++i) {
      if (own[i].x % 2u == lane / 8u) column_sum = ADD(column_sum, columns[8u * i + lane % 8u]);
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
  LOCAL_MEMORY PieceBlock own[64];
  LOCAL_MEMORY Slab slab;
  if (THREAD == 0u) {
    begin_slab(places + chunk_of_slab[GROUP], chops + chunk_of_slab[GROUP], shapes, &slab);
  }
  if (THREAD < 48u) lanes[THREAD] = 0.0f;
  BARRIER();
  for (u32 first = slab.first_block; first < slab.end_block; first += slab.step) {
    {
      const u32 count = least(slab.end_block - first, slab.step);
      if (THREAD < count) {
        own[THREAD] = block_of(slab.shape, slab.chop, slab.first_block, first + THREAD);
      }
    }
    BARRIER();
    {
      const ChopShape shape = slab.shape;
      const u32 bits = slab.bits, kept_rows = slab.kept_rows, width = slab.chop.width;
      const u32 columns = least(slab.end_block - first, slab.step) << bits;
      GLOBAL const float* const from = values + offset + slab.first;
      SHARE(c, 0u, (columns + COLUMNS - 1u) / COLUMNS) {
        const u32 q = c * COLUMNS;
        V x[8], y[8];
        clear(x, y);
        if (COLUMNS <= shape.points && own[q >> bits].inside) {
          GLOBAL const float* const at = from + own[q >> bits].element + (q & (shape.points - 1u));
#pragma unroll
          for (u32 i = 0; i < 8u; ++i) {
            if (i < shape.points) x[i] = LOAD_COLUMNS(at + i * width);
          }
        } else {
#pragma unroll
          for (u32 i = 0; i < 8u; ++i) {
            float one[COLUMNS];
            for (u32 k = 0; k < COLUMNS; ++k) {
              const u32 at = least(q + k, columns - 1u);
              one[k] = from[element_of(shape, slab.chop, first + (at >> bits),
                                       least(i, shape.points - 1u), at & (shape.points - 1u), 1)];
            }
            x[i] = LOAD_COLUMNS(one);
          }
        }
        V dropped = 0.0f;
        if (shape.layout == LINEAR_LAYOUT) {
          y[0] = x[0];
        } else {
          dropped = forward(shape.points, shape.keep, x, y);
        }
        STORE_COLUMNS(dropped, column_dropped + q);
#pragma unroll
        for (u32 u = 0; u < 8u; ++u) {
          if (u < kept_rows) {
            float one[COLUMNS];
            STORE_COLUMNS(y[u], one);
            LOCAL float* const to = rows + (u << (8u - bits));
            for (u32 k = 0; k < COLUMNS; ++k) {
              to[((q + k) & (shape.points - 1u)) * GROUPS_STRIDE + ((q + k) >> bits)] = one[k];
            }
          }
        }
      }
    }
    BARRIER();
    {
      const ChopShape shape = slab.shape;
      const u32 bits = slab.bits, blocks = slab.chop.blocks;
      const u32 count = least(slab.end_block - first, slab.step);
      GLOBAL u8* const payload = bytes + slab.payload;
      SHARE(g, 0u, (slab.kept_rows << (8u - bits)) / COLUMNS) {
        const u32 group = g * COLUMNS, u = group >> (8u - bits), block = group - (u << (8u - bits));
        if (block < count) {
          const u32 kept = kept_of_row(shape, u), row = place_of_row(shape, blocks, u);
          V x[8], y[8];
        clear(x, y);
#pragma unroll
          for (u32 j = 0; j < 8u; ++j) {
            if (j < shape.points) x[j] = LOAD_COLUMNS(rows + j * GROUPS_STRIDE + group);
          }
          const V dropped = forward(shape.points, kept, x, y);
          V sum = SQUARED(y[0]);
#pragma unroll
          for (u32 v = 0; v < 8u; ++v) {
            if (v < kept) {
              if (v > 0u) sum = PLUS(sum, SQUARED(y[v]));
              float one[COLUMNS];
              STORE_COLUMNS(y[v], one);
              for (u32 k = 0; k < COLUMNS && block + k < count; ++k) {
                put(shape, payload, own[block + k].place + row + v, one[k]);
              }
            }
          }
          STORE_COLUMNS(dropped, row_dropped + group);
          STORE_COLUMNS(sum, row_kept + group);
        }
      }
    }
    BARRIER();
    if (THREAD < 16u && slab.shape.points == 8u) {
      add_to_lanes(slab.shape, slab.chop.blocks, least(slab.end_block - first, slab.step), own,
                   column_dropped, row_dropped, row_kept, lanes);
    }
    BARRIER();
  }
  if (THREAD < 48u) energies[GROUP * 48u + THREAD] = lanes[THREAD];
}

// A slab of a chunk. Any bytes give some values.
KERNEL(unchop)(GLOBAL const u8* bytes, GLOBAL const ChunkPlace* places,
               GLOBAL const u32* chunk_of_slab, GLOBAL const ChopShape* shapes,
               GLOBAL const ChopChunk* chops, GLOBAL float* values, u64 offset) {
  LOCAL_MEMORY float rows[8 * 260];
  LOCAL_MEMORY PieceBlock own[64];
  LOCAL_MEMORY Slab slab;
  if (places[chunk_of_slab[GROUP]].kind != CHUNK_CODED) return;
  if (THREAD == 0u) {
    begin_slab(places + chunk_of_slab[GROUP], chops + chunk_of_slab[GROUP], shapes, &slab);
  }
  BARRIER();
  for (u32 first = slab.first_block; first < slab.end_block; first += slab.step) {
    {
      const u32 count = least(slab.end_block - first, slab.step);
      if (THREAD < count) {
        own[THREAD] = block_of(slab.shape, slab.chop, slab.first_block, first + THREAD);
      }
    }
    BARRIER();
    {
      const ChopShape shape = slab.shape;
      const u32 bits = slab.bits, blocks = slab.chop.blocks;
      const u32 count = least(slab.end_block - first, slab.step);
      GLOBAL const u8* const payload = bytes + slab.payload;
      SHARE(g, 0u, (slab.kept_rows << (8u - bits)) / COLUMNS) {
        const u32 group = g * COLUMNS, u = group >> (8u - bits), block = group - (u << (8u - bits));
        if (block < count) {
          const u32 kept = kept_of_row(shape, u), row = place_of_row(shape, blocks, u);
          V x[8], y[8];
        clear(x, y);
#pragma unroll
          for (u32 v = 0; v < 8u; ++v) {
            y[v] = 0.0f;
            if (v < kept) {
              float one[COLUMNS];
              for (u32 k = 0; k < COLUMNS; ++k) {
                one[k] = get(shape, payload, own[least(block + k, count - 1u)].place + row + v);
              }
              y[v] = LOAD_COLUMNS(one);
            }
          }
          inverse(shape.points, kept, y, x);
#pragma unroll
          for (u32 j = 0; j < 8u; ++j) {
            if (j < shape.points) STORE_COLUMNS(x[j], rows + j * GROUPS_STRIDE + group);
          }
        }
      }
    }
    BARRIER();
    {
      const ChopShape shape = slab.shape;
      const u32 bits = slab.bits, kept_rows = slab.kept_rows, width = slab.chop.width;
      const u32 columns = least(slab.end_block - first, slab.step) << bits;
      GLOBAL float* const to = values + offset + slab.first;
      SHARE(c, 0u, (columns + COLUMNS - 1u) / COLUMNS) {
        const u32 q = c * COLUMNS;
        V x[8], y[8];
        clear(x, y);
#pragma unroll
        for (u32 u = 0; u < 8u; ++u) {
          y[u] = 0.0f;
          if (u < kept_rows) {
            float one[COLUMNS];
            LOCAL const float* const from = rows + (u << (8u - bits));
            for (u32 k = 0; k < COLUMNS; ++k) {
              const u32 at = least(q + k, columns - 1u);
              one[k] = from[(at & (shape.points - 1u)) * GROUPS_STRIDE + (at >> bits)];
            }
            y[u] = LOAD_COLUMNS(one);
          }
        }
        if (shape.layout == LINEAR_LAYOUT) {
          x[0] = y[0];
        } else {
          inverse(shape.points, shape.keep, y, x);
        }
        if (COLUMNS <= shape.points && own[q >> bits].inside) {
          GLOBAL float* const at = to + own[q >> bits].element + (q & (shape.points - 1u));
#pragma unroll
          for (u32 i = 0; i < 8u; ++i) {
            if (i < shape.points) STORE_COLUMNS(x[i], at + i * width);
          }
        } else {
          const u32 heights = shape.layout == LINEAR_LAYOUT ? 1u : shape.points;
#pragma unroll
          for (u32 i = 0; i < 8u; ++i) {
            if (i < heights) {
              float one[COLUMNS];
              STORE_COLUMNS(x[i], one);
              for (u32 k = 0; k < COLUMNS; ++k) {
                const u32 at = q + k;
                if (at < columns) {
                  const u32 element = element_of(shape, slab.chop, first + (at >> bits), i,
                                                 at & (shape.points - 1u), 0);
                  if (element != 0xFFFFFFFFu) to[element] = one[k];
                }
              }
            }
          }
        }
      }
    }
    BARRIER();
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
