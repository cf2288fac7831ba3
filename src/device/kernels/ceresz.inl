// Codec ceresz (src/codecs/ceresz): f32 values to payloads of chunks, and back. A thread has a
// block of 32 values in registers, a group a tile of 256 blocks.
//
// The payloads of all chunks lie one after the other, each at a multiple of 8 bytes. A tile learns
// where to write from what the tiles before it have published: within its chunk their words, and
// over the chunks before it the bytes. Tiles take tickets, so that whoever waits waits for one that
// has begun. One read of the values and one write of what is compressed.
#define BLOCK 32u
#define TILE 8192u
#define ROW 33u  // words of a block in local memory, so that threads use different banks
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

// Of 32 words, lowest bits first: afterwards bit b of a[p] is what bit p of a[b] was.
FUNCTION void transpose(u32* a) {
  u32 j = 16, m = 0x0000FFFFu;
#pragma unroll
  for (int stage = 0; stage < 5; ++stage) {
#pragma unroll
    for (u32 i = 0; i < 16; ++i) {
      const u32 k = ((i & ~(j - 1u)) << 1) | (i & (j - 1u));
      const u32 t = ((a[k] >> j) ^ a[k + j]) & m;
      a[k + j] ^= t;
      a[k] ^= t << j;
    }
    j >>= 1;
    m ^= m << j;
  }
}

// A block's values, as bits, become its planes. Returns their number.
FUNCTION u32 encode_block(u32* a, Quantizer quantizer) {
  u32 codes[BLOCK];
  u32 all = 0, before = 0, holds = 1;
#pragma unroll
  for (u32 i = 0; i < BLOCK; ++i) {
    const float x = FLOAT(a[i]);
    const u32 q = BITS(ADD(MUL(x, quantizer.scale), MAGIC)) - MAGIC_BITS;
    const float back = MUL(SUB(FLOAT(q + MAGIC_BITS), MAGIC), quantizer.step);
    holds &= MAGNITUDE(SUB(x, back)) <= quantizer.tolerance;
    const u32 difference = q - before;
    before = q;
    codes[i] = (difference << 1) ^ (0u - (difference >> 31));
    all |= codes[i];
  }
  if (!holds) return RAW_BLOCK;
#pragma unroll
  for (u32 bit = 0; bit < BLOCK; ++bit) a[bit] = codes[value_of_bit(bit)];
  transpose(a);
  return all == 0u ? 0u : 32u - LEADING_ZEROS(all);
}

// Words of local memory to any byte of the payloads; what lies at or past `end` is not written.
FUNCTION void copy_words(LOCAL const u32* words, u32 count, GLOBAL u8* to, u64 at, u64 end) {
  const u32 r = (u32)(at & 3u);
  const u64 aligned = at - r;
  for (u32 k = THREAD; k <= count; k += 256u) {
    const u32 low = k > 0u ? words[k - 1u] : 0u, high = k < count ? words[k] : 0u;
    const u64 place = aligned + 4u * (u64)k;
    const u32 word = r == 0u ? high : (high << (8u * r)) | (low >> (32u - 8u * r));
    if (k > 0u && k < count && place + 4u <= end) {
      *(GLOBAL u32*)(to + place) = word;
    } else {
      for (u32 byte = 0; byte < 4u; ++byte) {
        const int mine = (k > 0u || byte >= r) && (k < count || byte < r);
        if (mine && place + byte < end) to[place + byte] = (u8)(word >> (8u * byte));
      }
    }
  }
}

// `order` has the ticket, then the state of each tile, then that of each chunk, all zero at first.
KERNEL(encode)(GLOBAL const u32* values, u64 offset, GLOBAL const ChunkPlace* places,
               GLOBAL const u32* chunk_of_tile, u32 tiles, GLOBAL const Quantizer* quantizers,
               GLOBAL u32* order, GLOBAL Payload* payloads, GLOBAL u8* bytes) {
  LOCAL_MEMORY u32 staged[256 * 33];
  LOCAL_MEMORY u32 sums[256];
  LOCAL_MEMORY u32 told[2];
  const u32 t = THREAD;
  if (t == 0u) told[0] = NEXT_TICKET(order);
  BARRIER();
  const u32 tile = told[0];
  BARRIER();
  GLOBAL u32* const tile_states = order + 1;
  GLOBAL u32* const chunk_states = tile_states + tiles;
  const u32 number = chunk_of_tile[tile];
  const ChunkPlace chunk = places[number];
  const u32 part = tile - chunk.first_tile;
  const u32 chunk_blocks = (chunk.count + BLOCK - 1u) / BLOCK;
  const u32 blocks = least(chunk_blocks - part * 256u, 256u);
  const int last_part = part == (chunk.count + TILE - 1u) / TILE - 1u;
  const int coded = chunk.kind == CHUNK_CODED;

  u32 a[BLOCK];
  u32 width = 0, words = 0;
  if (coded) {
    for (u32 i = t; i < blocks * BLOCK; i += 256u) {
      const u32 at = least(part * TILE + i, chunk.count - 1u);  // filled up with the last value
      staged[i / BLOCK * ROW + i % BLOCK] = values[offset + chunk.first + at];
    }
  }
  BARRIER();
  if (coded && t < blocks) {
#pragma unroll
    for (u32 i = 0; i < BLOCK; ++i) a[i] = staged[t * ROW + i];
    width = encode_block(a, quantizers[chunk.detail]);
    words = width == RAW_BLOCK ? BLOCK : width;
  }
  u32 total;
  const u32 place = sum_before(words, sums, &total);  // has barriers: all have read their block
#pragma unroll
  for (u32 p = 0; p < BLOCK; ++p) {
    if (p < words) staged[place + p] = a[p];
  }

  if (t == 0u) {
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
  const u64 widths = start + HEAD + part * 256u;
  if (part == 0u && t == 0u) {
    bytes[start] = CODED_FLAG;
    if (start + 1u < end) bytes[start + 1u] = (u8)chunk.detail;
  }
  if (t < blocks && widths + t < end) bytes[widths + t] = (u8)width;
  copy_words(staged, total, bytes, start + HEAD + chunk_blocks + 4u * (u64)told[1], end);
}

// A tile of a chunk. Any bytes: a chunk whose widths and size do not fit together is reported in
// `damaged` and left as it is.
KERNEL(decode)(GLOBAL const u8* bytes, GLOBAL const ChunkPlace* places,
               GLOBAL const u32* chunk_of_tile, GLOBAL const Quantizer* quantizers,
               GLOBAL u32* values, u64 offset, GLOBAL u32* damaged) {
  LOCAL_MEMORY u32 staged[256 * 33];
  LOCAL_MEMORY u32 sums[256];
  const u32 t = THREAD;
  const u32 number = chunk_of_tile[GROUP];
  const ChunkPlace chunk = places[number];
  const u32 part = GROUP - chunk.first_tile;
  const u32 chunk_blocks = (chunk.count + BLOCK - 1u) / BLOCK;
  const u32 blocks = least(chunk_blocks - part * 256u, 256u);
  const u32 here = least(chunk.count - part * TILE, TILE);
  GLOBAL u32* const to = values + offset + chunk.first + part * TILE;
  if (chunk.kind == CHUNK_CONSTANT) {
    for (u32 i = t; i < here; i += 256u) to[i] = chunk.detail;
  }
  if (chunk.kind != CHUNK_CODED) return;
  const u32 room = chunk.payload_bytes - HEAD - chunk_blocks;  // the host has checked
  GLOBAL const u8* const widths = bytes + chunk.payload + HEAD;
  u32 bad = 0, earlier = 0;
  for (u32 i = t; i < part * 256u; i += 256u) {
    const u32 w = widths[i];
    bad |= w > 32u && w != RAW_BLOCK;
    earlier += w > 32u ? BLOCK : w;
  }
  u32 before;
  (void)sum_before(earlier, sums, &before);
  const u32 width = t < blocks ? widths[part * 256u + t] : 0u;
  bad |= width > 32u && width != RAW_BLOCK;
  const u32 words = width > 32u ? BLOCK : width;
  u32 total;
  const u32 place = sum_before(words, sums, &total);
  const int last_part = part == (chunk.count + TILE - 1u) / TILE - 1u;
  bad |= 4u * (before + total) > room || (last_part && 4u * (before + total) != room);
  u32 failures;
  (void)sum_before(bad, sums, &failures);
  if (failures > 0u) {
    if (t == 0u) REPORT(&damaged[number], 1u);
    return;
  }
  const u64 planes = chunk.payload + HEAD + chunk_blocks + 4u * (u64)before;
  const u32 r = (u32)(planes & 3u);
  GLOBAL const u32* const from = (GLOBAL const u32*)(bytes + (planes - r));
  for (u32 k = t; k < total; k += 256u) {
    staged[k] = r == 0u ? from[k] : (from[k] >> (8u * r)) | (from[k + 1u] << (32u - 8u * r));
  }
  BARRIER();
  u32 a[BLOCK];
#pragma unroll
  for (u32 p = 0; p < BLOCK; ++p) a[p] = p < words ? staged[place + p] : 0u;
  BARRIER();
  if (t < blocks) {
    if (width != RAW_BLOCK) {
      const Quantizer quantizer = quantizers[chunk.detail];
      transpose(a);
      u32 sum = 0, codes[BLOCK];
#pragma unroll
      for (u32 bit = 0; bit < BLOCK; ++bit) codes[value_of_bit(bit)] = a[bit];
#pragma unroll
      for (u32 i = 0; i < BLOCK; ++i) {
        sum += (codes[i] >> 1) ^ (0u - (codes[i] & 1u));
        a[i] = BITS(MUL(SUB(FLOAT(sum + MAGIC_BITS), MAGIC), quantizer.step));
      }
    }
#pragma unroll
    for (u32 i = 0; i < BLOCK; ++i) staged[t * ROW + i] = a[i];
  }
  BARRIER();
  for (u32 i = t; i < here; i += 256u) to[i] = staged[i / BLOCK * ROW + i % BLOCK];
}
