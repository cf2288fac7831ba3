// Codec ceresz (src/codecs/ceresz): f32 values to payloads of chunks, and back. A thread has a
// block of 32 values in registers, a group a tile of 256 blocks.
//
// The payloads of all chunks lie one after the other, each at a multiple of 8 bytes. A tile learns
// where to write from what the tiles before it have published: within its chunk their words, and
// over the chunks before it the bytes. Tiles take tickets, so that whoever waits waits for one that
// has begun. One read of the values and one write of what is compressed.
#define BLOCK 32u
#define TILE 8192u
#define COLUMN 257u  // words from a value of a block to its next in local memory: other banks
#define RAW_BLOCK 255u
#define HEAD 2u       // bytes before the widths: flags, slack
#define CODED_FLAG 16u
#define MAGIC 12582912.0f
#define MAGIC_BITS 0x4B400000u

#define READY 0x80000000u
#define SUM 0x40000000u
#define PREFIX 0x80000000u
#define AMOUNT 0x3FFFFFFFu  // in units of 8 bytes

typedef struct {
  float scale, step, tolerance, unused;
} Quantizer;

typedef struct {
  u32 start8;  // in units of 8 bytes
  u32 bytes;   // 4 bytes a value: the chunk is better stored raw, and nothing was written
} Payload;

FUNCTION u32 value_of_bit(u32 bit) {
  return 8u * (bit % 4u) + 2u * (bit / 8u) + bit / 4u % 2u;
}

// Stages of a transposition of 32 x 32 bits: bit j of a word's number and bit j of places in words
// change their roles, for `words` words and j below that. Stages may be done in any order.
FUNCTION void stages(Lanes* a, u32 words) {
  u32 j = 16, m = 0x0000FFFFu;
#pragma unroll
  for (int stage = 0; stage < 5; ++stage) {
    if (j < words) {
#pragma unroll
      for (u32 i = 0; i < 16u; ++i) {
        if (i < words / 2u) {
          const u32 k = ((i & ~(j - 1u)) << 1) | (i & (j - 1u));
          const Lanes t = ((a[k] >> j) ^ a[k + j]) & m;
          a[k + j] ^= t;
          a[k] ^= t << j;
        }
      }
    }
    j >>= 1;
    m ^= m << j;
  }
}

// Of 32 words, lowest bits first: afterwards bit b of a[p] is what bit p of a[b] was. `width` bits
// of each word can be other than 0.
FUNCTION void transpose(Lanes* a, u32 width) {
#if defined(TENSORPRESS_ON_CPU)  // on GPUs some thread of a warp would need all stages
  if (width <= 8u) {
#pragma unroll
    for (u32 k = 0; k < 8u; ++k) {
      a[k] |= a[k + 8u] << 8 | a[k + 16u] << 16 | a[k + 24u] << 24;
    }
    stages(a, 8u);
    return;
  }
  if (width <= 16u) {
#pragma unroll
    for (u32 k = 0; k < 16u; ++k) a[k] |= a[k + 16u] << 16;
    stages(a, 16u);
    return;
  }
#endif
  stages(a, 32u);
}

// The reverse: a[p] from `width` on is 0.
FUNCTION void transpose_back(Lanes* a, u32 width) {
#if defined(TENSORPRESS_ON_CPU)
  if (width <= 8u) {
    stages(a, 8u);
#pragma unroll
    for (u32 k = 0; k < 8u; ++k) {
      a[k + 24u] = a[k] >> 24;
      a[k + 16u] = a[k] >> 16 & 0xFFu;
      a[k + 8u] = a[k] >> 8 & 0xFFu;
      a[k] &= 0xFFu;
    }
    return;
  }
  if (width <= 16u) {
    stages(a, 16u);
#pragma unroll
    for (u32 k = 0; k < 16u; ++k) {
      a[k + 16u] = a[k] >> 16;
      a[k] &= 0xFFFFu;
    }
    return;
  }
#endif
  stages(a, 32u);
}

// The bits of all lanes together.
FUNCTION u32 any_of(Lanes lanes) {
  u32 each[LANES], all = 0;
  STORE_LANES(lanes, each);
  for (u32 i = 0; i < LANES; ++i) all |= each[i];
  return all;
}

// A block's values, a column of `values`, become its planes. Returns their number; `holds` is 0
// where a value would not come back within the bound, `most` the largest number of all lanes.
FUNCTION Lanes encode_block(LOCAL const u32* values, Quantizer quantizer, Lanes* planes,
                            Lanes* holds, u32* most) {
  Lanes codes[BLOCK];
  Lanes all = 0u, before = 0u, fits = 0xFFFFFFFFu;
#pragma unroll
  for (u32 i = 0; i < BLOCK; ++i) {
    const FloatLanes x = LANES_FLOAT(LOAD_LANES(values + i * COLUMN));
    const Lanes q = LANES_BITS(ADD_LANES(MUL_LANES(x, quantizer.scale), MAGIC)) - MAGIC_BITS;
    const FloatLanes back =
        MUL_LANES(SUB_LANES(LANES_FLOAT(q + MAGIC_BITS), MAGIC), quantizer.step);
    fits &= IS_WITHIN(SUB_LANES(x, back), quantizer.tolerance);
    const Lanes difference = q - before;
    before = q;
    codes[i] = (difference << 1) ^ (0u - (difference >> 31));
    all |= codes[i];
  }
#pragma unroll
  for (u32 bit = 0; bit < BLOCK; ++bit) planes[bit] = codes[value_of_bit(bit)];
  *most = 32u - LEADING_ZEROS(any_of(all));
  transpose(planes, *most);
  *holds = fits;
  return 32u - LEADING_ZEROS_OF(all);
}

// The planes of a block to its values, a column.
FUNCTION void decode_block(Lanes* planes, u32 width, float step, LOCAL u32* values) {
  Lanes codes[BLOCK], sum = 0u;
  transpose_back(planes, width);
#pragma unroll
  for (u32 bit = 0; bit < BLOCK; ++bit) codes[value_of_bit(bit)] = planes[bit];
#pragma unroll
  for (u32 i = 0; i < BLOCK; ++i) {
    sum += (codes[i] >> 1) ^ (0u - (codes[i] & 1u));
    const FloatLanes x = MUL_LANES(SUB_LANES(LANES_FLOAT(sum + MAGIC_BITS), MAGIC), step);
    STORE_LANES(LANES_BITS(x), values + i * COLUMN);
  }
}

// Words of local memory to any byte of the payloads; what lies at or past `end` is not written.
FUNCTION void copy_words(LOCAL const u32* words, u32 count, GLOBAL u8* to, u64 at, u64 end) {
  if (count == 0u || at >= end) return;
  const u32 r = (u32)(at & 3u), right = 32u - 8u * r;
  GLOBAL u32* const aligned = (GLOBAL u32*)(to + (at - r));
  const u64 room = end - at;
  const u32 bytes = 4u * (u64)count < room ? 4u * count : (u32)room;
  const u32 whole = (r + bytes) / 4u;  // words that end where we may write
  SHARE(k, 1u, whole > 1u ? whole : 1u) {
    aligned[k] = (u32)(((u64)words[k < count ? k : count - 1u] << 32 | words[k - 1u]) >> right);
  }
  // The bytes before and behind them.
  if (THREAD < 8u) {
    const u32 first = THREAD < 4u ? THREAD : 4u * (whole > 1u ? whole : 1u) - r + (THREAD - 4u);
    const u32 limit = THREAD < 4u ? least(4u - r, bytes) : bytes;
    if (first < limit) to[at + first] = (u8)(words[first / 4u] >> (8u * (first % 4u)));
  }
}

// `order` has the ticket, then the state of each tile, then that of each chunk, all zero at first.
KERNEL(encode)(GLOBAL const u32* values, u64 offset, GLOBAL const ChunkPlace* places,
               GLOBAL const u32* chunk_of_tile, u32 tiles, GLOBAL const Quantizer* quantizers,
               GLOBAL u32* order, GLOBAL Payload* payloads, GLOBAL u8* bytes) {
  LOCAL_MEMORY u32 staged[BLOCK * COLUMN];
  LOCAL_MEMORY u32 widths[256], sums[256], parts[17];
  LOCAL_MEMORY u32 told[2];
  KEPT(planes, BLOCK);
  const u32 t = THREAD;
  if (t == 0u) told[0] = NEXT_TICKET(order);
  BARRIER();
  const u32 tile = told[0];
  GLOBAL u32* const tile_states = order + 1;
  GLOBAL u32* const chunk_states = tile_states + tiles;
  const u32 number = chunk_of_tile[tile];
  const ChunkPlace chunk = places[number];
  const u32 part = tile - chunk.first_tile;
  const u32 chunk_blocks = (chunk.count + BLOCK - 1u) / BLOCK;
  const u32 blocks = least(chunk_blocks - part * 256u, 256u);
  const int last_part = part == (chunk.count + TILE - 1u) / TILE - 1u;
  const int coded = chunk.kind == CHUNK_CODED;
  GLOBAL const u32* const from = values + offset + chunk.first + part * TILE;
  const u32 here = least(chunk.count - part * TILE, TILE);

  if (coded) {  // filled up with the last value
    SHARE(i, 0u, TILE) staged[i % BLOCK * COLUMN + i / BLOCK] = from[least(i, here - 1u)];
  }
  BARRIER();
  if (t < 256u / LANES) {
    const u32 own = t * LANES;
    Lanes block[BLOCK], holds = 0u, width = 0u;
    u32 most = 0;
    if (coded) width = encode_block(staged + own, quantizers[chunk.detail], block, &holds, &most);
    if (any_of(~holds) == 0u) {
#pragma unroll
      for (u32 p = 0; p < LOOP_END(BLOCK, most); ++p) {
        STORE_LANES(block[p], &KEPT_AT(planes, p, own));
      }
    } else {
#pragma unroll
      for (u32 p = 0; p < BLOCK; ++p) {
        const Lanes raw = LOAD_LANES(staged + p * COLUMN + own);
        STORE_LANES((block[p] & holds) | (raw & ~holds), &KEPT_AT(planes, p, own));
      }
    }
    STORE_LANES((width & holds) | (RAW_BLOCK & ~holds), widths + own);
  }
  BARRIER();
  const int exists = coded && t < blocks;
  const u32 words = exists ? least(widths[t], BLOCK) : 0u;
  sums[t] = words;
  sum_before(sums, parts);
#pragma unroll
  for (u32 p = 0; p < LOOP_END(BLOCK, words); ++p) {
    if (p < words) staged[sums[t] + p] = KEPT_AT(planes, p, t);
  }

  if (t == 0u) {
    const u32 total = parts[16];
    PUBLISH(&tile_states[tile], READY | total);
    u32 before = 0;
    for (u32 earlier = 1; earlier <= part; ++earlier) {
      u32 state;
      do {
        state = LOOK(&tile_states[tile - earlier]);
      } while (!(state & READY));
      before += state & ~READY;
    }
    u32 size = 0;
    if (last_part) {
      const u32 raw = 4u * chunk.count;
      if (coded) size = least(HEAD + chunk_blocks + 4u * (before + total), raw);
      PUBLISH(&chunk_states[number], SUM | ((size + 7u) / 8u));
    }
    u32 start8 = 0;
    for (u32 earlier = number; earlier-- > 0u;) {
      u32 state;
      do {
        state = LOOK(&chunk_states[earlier]);
      } while (!(state & (SUM | PREFIX)));
      start8 += state & AMOUNT;
      if (state & PREFIX) break;
    }
    if (last_part) {
      PUBLISH(&chunk_states[number], PREFIX | (start8 + (size + 7u) / 8u));
      payloads[number].start8 = start8;
      payloads[number].bytes = size;
    }
    told[0] = start8;
    told[1] = before;
  }
  BARRIER();
  if (!coded) return;
  const u64 start = 8u * (u64)told[0];
  const u64 end = start + 4u * (u64)chunk.count;  // no further: the chunk becomes raw
  const u64 at_widths = start + HEAD + part * 256u;
  if (part == 0u && t == 0u) {
    bytes[start] = CODED_FLAG;
    if (start + 1u < end) bytes[start + 1u] = (u8)chunk.detail;
  }
  if (exists && at_widths + t < end) bytes[at_widths + t] = (u8)widths[t];
  copy_words(staged, parts[16], bytes, start + HEAD + chunk_blocks + 4u * (u64)told[1], end);
}

// A tile of a chunk. Any bytes: a chunk whose widths and size do not fit together is reported in
// `damaged` and left as it is.
KERNEL(decode)(GLOBAL const u8* bytes, GLOBAL const ChunkPlace* places,
               GLOBAL const u32* chunk_of_tile, GLOBAL const Quantizer* quantizers,
               GLOBAL u32* values, u64 offset, GLOBAL u32* damaged) {
  LOCAL_MEMORY u32 staged[BLOCK * COLUMN];
  LOCAL_MEMORY u32 sums[256], parts[17], marks[256], counts[256], mosts[256 / LANES];
  LOCAL_MEMORY u32 told;
  KEPT(planes, BLOCK);
  const u32 t = THREAD;
  const u32 number = chunk_of_tile[GROUP];
  const ChunkPlace chunk = places[number];
  const u32 part = GROUP - chunk.first_tile;
  const u32 chunk_blocks = (chunk.count + BLOCK - 1u) / BLOCK;
  const u32 blocks = least(chunk_blocks - part * 256u, 256u);
  const u32 here = least(chunk.count - part * TILE, TILE);
  GLOBAL u32* const to = values + offset + chunk.first + part * TILE;
  if (chunk.kind == CHUNK_CONSTANT) {
    SHARE(i, 0u, here) to[i] = chunk.detail;
  }
  if (chunk.kind != CHUNK_CODED) return;
  const u32 room = chunk.payload_bytes - HEAD - chunk_blocks;  // the host has checked
  GLOBAL const u8* const widths = bytes + chunk.payload + HEAD;

  // Words of the tiles before this one, then places of its own blocks.
  u32 wrong = 0, earlier = 0;
  SHARE(i, 0u, part * 256u) {
    const u32 w = widths[i];
    wrong |= w > BLOCK && w != RAW_BLOCK;
    earlier += least(w, BLOCK);
  }
  sums[t] = earlier;
  sum_before(sums, parts);
  if (t == 0u) told = parts[16];
  BARRIER();
  const u32 before = told;
  const u32 width = t < blocks ? widths[part * 256u + t] : 0u;
  const u32 words = least(width, BLOCK);
  sums[t] = words;
  sum_before(sums, parts);
  const u32 total = parts[16];
  const int last_part = part == (chunk.count + TILE - 1u) / TILE - 1u;
  wrong |= width > BLOCK && width != RAW_BLOCK;
  wrong |= 4u * (before + total) > room || (last_part && 4u * (before + total) != room);
  marks[t] = wrong;
  sum_before(marks, parts);
  if (parts[16] > 0u) {
    if (t == 0u) REPORT(&damaged[number], 1u);
    return;
  }

  const u64 at = chunk.payload + HEAD + chunk_blocks + 4u * (u64)before;
  const u32 r = (u32)(at & 3u);
  GLOBAL const u32* const from = (GLOBAL const u32*)(bytes + (at - r));
  SHARE(k, 0u, total) {
    staged[k] = (u32)(((u64)from[k + (r != 0u)] << 32 | from[k]) >> (8u * r));
  }
  BARRIER();
  marks[t] = width == RAW_BLOCK ? 0xFFFFFFFFu : 0u;
  counts[t] = words;
  BARRIER();
  if (t < 256u / LANES) {
    const u32 own = t * LANES;
    u32 most = 0;
    for (u32 i = 0; i < LANES; ++i) most = counts[own + i] > most ? counts[own + i] : most;
#pragma unroll
    for (u32 p = 0; p < LOOP_END(BLOCK, most); ++p) {
      u32 each[LANES];
      for (u32 i = 0; i < LANES; ++i) {
        each[i] = p < counts[own + i] ? staged[sums[own + i] + p] : 0u;
      }
      STORE_LANES(LOAD_LANES(each), &KEPT_AT(planes, p, own));
    }
    mosts[t] = most;
  }
  BARRIER();
  if (t < 256u / LANES) {
    const u32 own = t * LANES, most = mosts[t];
    const Lanes raw = LOAD_LANES(marks + own);
    Lanes block[BLOCK];
#pragma unroll
    for (u32 p = 0; p < BLOCK; ++p) {
      block[p] = 0u;
      if (p < LOOP_END(BLOCK, most)) block[p] = LOAD_LANES(&KEPT_AT(planes, p, own));
    }
    decode_block(block, most, quantizers[chunk.detail].step, staged + own);
    if (any_of(raw) != 0u) {
#pragma unroll
      for (u32 i = 0; i < BLOCK; ++i) {
        const Lanes coded = LOAD_LANES(staged + i * COLUMN + own);
        const Lanes stored = LOAD_LANES(&KEPT_AT(planes, i, own));
        STORE_LANES((coded & ~raw) | (stored & raw), staged + i * COLUMN + own);
      }
    }
  }
  BARRIER();
  SHARE(i, 0u, here) to[i] = staged[i % BLOCK * COLUMN + i / BLOCK];
}
