// Codec ceresz2 (src/codecs/ceresz2): f32 values to blocks of Huffman codes, and back. A thread has
// a block of 32 values, a group a tile of 256 blocks.
//
// Where a tile writes follows from the sizes of all tiles before it, and outliers lie behind the
// last block of a chunk, so that there are two passes: `measure` says what each tile takes, the
// host adds that up, and `pack` writes everything to its place. Decoding is the reverse: the host
// walks from block to block, `unpack` decodes the blocks and `put_outliers` follows.
#define BLOCK 32u
#define TILE 8192u
#define COLUMN 257u  // words from a value of a block to its next in local memory: other banks
#define HEAD 9u      // flags, then 8 bytes
#define CODED_FLAG 16u
#define ESCAPE_BITS 32u
#define MAGIC 12582912.0f
#define MAGIC_BITS 0x4B400000u
#define CODE_BITS 24u  // of the longest code

typedef struct {
  float scale, step, tolerance, unused;
} Quantizer;

// Of a tile: its words and outliers, or those of all tiles of its chunk before it.
typedef struct {
  u32 words, outliers;
} TileSize;

// kernels/huffman/huffman.h has what these mean.
typedef struct {
  u32 symbols, first, index_bits, unused;
  u32 limits[26], offsets[26];
} Code;

// A block's values, a column, become differences. Bit i says that value i is an outlier.
FUNCTION Lanes predict(LOCAL u32* values, Quantizer quantizer) {
  Lanes outliers = 0u, before = 0u;
#pragma unroll
  for (u32 i = 0; i < BLOCK; ++i) {
    const FloatLanes x = LANES_FLOAT(LOAD_LANES(values + i * COLUMN));
    const Lanes q = LANES_BITS(ADD_LANES(MUL_LANES(x, quantizer.scale), MAGIC)) - MAGIC_BITS;
    const FloatLanes back =
        MUL_LANES(SUB_LANES(LANES_FLOAT(q + MAGIC_BITS), MAGIC), quantizer.step);
    const Lanes fits = IS_WITHIN(SUB_LANES(x, back), quantizer.tolerance);
    const Lanes quantum = (q & fits) | (before & ~fits);
    outliers |= ~fits & (1u << i);
    STORE_LANES(quantum - before, values + i * COLUMN);
    before = quantum;
  }
  return outliers;
}

// The tile's values, filled up with the last one, become differences in `staged`.
FUNCTION void predict_tile(GLOBAL const u32* from, u32 here, Quantizer quantizer,
                           LOCAL u32* staged, LOCAL u32* outliers) {
  SHARE(i, 0u, TILE) staged[i % BLOCK * COLUMN + i / BLOCK] = from[least(i, here - 1u)];
  BARRIER();
  if (THREAD < 256u / LANES) {
    const u32 own = THREAD * LANES;
    STORE_LANES(predict(staged + own, quantizer), outliers + own);
  }
  BARRIER();
}

// Words of a block with its count; 0 bits if all differences are 0.
FUNCTION u32 bits_of_block(LOCAL const u32* differences, GLOBAL const Code* code,
                           GLOBAL const u32* entries) {
  const u32 symbols = code->symbols, first = code->first;
  u32 bits = 0, all = 0;
  for (u32 i = 0; i < BLOCK; ++i) {
    const u32 difference = differences[i * COLUMN], symbol = difference + first;
    all |= difference;
    bits += symbol < symbols ? entries[symbol] >> 26 : 1u + ESCAPE_BITS;
  }
  return all != 0u ? bits : 0u;
}

FUNCTION u32 ones_of(u32 word) {
  word -= (word >> 1) & 0x55555555u;
  word = (word & 0x33333333u) + ((word >> 2) & 0x33333333u);
  return ((word + (word >> 4)) & 0x0F0F0F0Fu) * 0x01010101u >> 24;
}

// The outliers of a block that are values of the chunk.
FUNCTION u32 existing(u32 outliers, u32 block, u32 here) {
  const u32 first = block * BLOCK;
  if (first >= here) return 0u;
  return here - first >= BLOCK ? outliers : outliers & ((1u << (here - first)) - 1u);
}

KERNEL(measure)(GLOBAL const u32* values, u64 offset, GLOBAL const ChunkPlace* places,
                GLOBAL const u32* chunk_of_tile, GLOBAL const Quantizer* quantizers,
                GLOBAL const Code* code, GLOBAL const u32* entries, GLOBAL TileSize* sizes) {
  LOCAL_MEMORY u32 staged[BLOCK * COLUMN];
  LOCAL_MEMORY u32 outliers[256], sums[256], parts[17];
  const u32 t = THREAD;
  const ChunkPlace chunk = places[chunk_of_tile[GROUP]];
  if (chunk.kind != CHUNK_CODED) return;
  const u32 part = GROUP - chunk.first_tile;
  const u32 here = least(chunk.count - part * TILE, TILE);
  predict_tile(values + offset + chunk.first + part * TILE, here, quantizers[chunk.detail], staged,
               outliers);
  const int exists = t * BLOCK < here;
  sums[t] = exists ? 1u + (bits_of_block(staged + t, code, entries) + 31u) / 32u : 0u;
  sum_before(sums, parts);
  if (t == 0u) sizes[GROUP].words = parts[16];
  sums[t] = ones_of(existing(outliers[t], t, here));
  sum_before(sums, parts);
  if (t == 0u) sizes[GROUP].outliers = parts[16];
}

// A chunk's words begin at a multiple of 4 bytes. `payload_bytes` are those of its blocks,
// `reserved` is the number of its outliers.
KERNEL(pack)(GLOBAL const u32* values, u64 offset, GLOBAL const ChunkPlace* places,
             GLOBAL const u32* chunk_of_tile, GLOBAL const Quantizer* quantizers,
             GLOBAL const Code* code, GLOBAL const u32* entries, GLOBAL const TileSize* before,
             GLOBAL u8* bytes) {
  LOCAL_MEMORY u32 staged[BLOCK * COLUMN];
  LOCAL_MEMORY u32 outliers[256], sums[256], parts[17];
  const u32 t = THREAD;
  const ChunkPlace chunk = places[chunk_of_tile[GROUP]];
  if (chunk.kind != CHUNK_CODED) return;
  const u32 part = GROUP - chunk.first_tile;
  const u32 here = least(chunk.count - part * TILE, TILE);
  GLOBAL const u32* const from = values + offset + chunk.first + part * TILE;
  predict_tile(from, here, quantizers[chunk.detail], staged, outliers);
  const int exists = t * BLOCK < here;
  const u32 bits = exists ? bits_of_block(staged + t, code, entries) : 0u;
  sums[t] = exists ? 1u + (bits + 31u) / 32u : 0u;
  sum_before(sums, parts);
  GLOBAL u32* const blocks = (GLOBAL u32*)(bytes + chunk.payload + HEAD);
  if (exists) {
    GLOBAL u32* to = blocks + before[GROUP].words + sums[t];
    *to++ = bits;
    if (bits > 0u) {
      const u32 symbols = code->symbols, first = code->first;
      u64 word = 0;
      u32 used = 0;
      for (u32 i = 0; i < BLOCK; ++i) {
        const u32 difference = staged[i * COLUMN + t], symbol = difference + first;
        if (symbol < symbols) {
          const u32 entry = entries[symbol];
          word |= (u64)(entry & 0x3FFFFFFu) << used;
          used += entry >> 26;
        } else {
          word |= (u64)difference << (used + 1u);
          used += 1u + ESCAPE_BITS;
        }
        while (used >= 32u) {
          *to++ = (u32)word;
          word >>= 32;
          used -= 32u;
        }
      }
      if (used > 0u) *to = (u32)word;
    }
  }
  const u32 own = existing(outliers[t], t, here);
  BARRIER();
  sums[t] = ones_of(own);
  sum_before(sums, parts);
  GLOBAL u32* const positions = blocks + chunk.payload_bytes / 4u;
  u32 place = before[GROUP].outliers + sums[t];
  for (u32 i = 0; i < BLOCK; ++i) {
    if ((own >> i & 1u) != 0u) {
      positions[place] = part * TILE + t * BLOCK + i;
      positions[chunk.reserved + place] = from[t * BLOCK + i];
      ++place;
    }
  }
  if (part == 0u && t == 0u) {
    GLOBAL u8* const head = bytes + chunk.payload;
    const u64 told = (u64)chunk.reserved << 16 | ESCAPE_BITS << 8 | chunk.detail;
    head[0] = CODED_FLAG;
    for (u32 i = 0; i < 8u; ++i) head[1u + i] = (u8)(told >> (8u * i));
  }
}

// The difference whose code begins `window`, and how many bits it takes.
FUNCTION u32 difference_of(u64 window, GLOBAL const Code* code, GLOBAL const u32* entries,
                           GLOBAL const u16* by_code, u32* length) {
  const u32 bits = (u32)(window >> 1);
  if ((window & 1u) == 0u) {
    *length = 1u + ESCAPE_BITS;
    return bits;
  }
  const u32 entry = entries[bits & ((1u << code->index_bits) - 1u)];
  if (entry != 0u) {
    *length = entry & 0xFFu;
    return (u32)((int)entry >> 16);
  }
  u32 reversed = 0;
  for (u32 i = 0; i < CODE_BITS; ++i) reversed |= (bits >> i & 1u) << (CODE_BITS - 1u - i);
  u32 own = 1;
  while (own < CODE_BITS && reversed >= code->limits[own]) ++own;
  *length = 1u + own;
  const u32 number = (reversed >> (CODE_BITS - own)) - code->offsets[own];
  return (u32)by_code[least(number, code->symbols - 1u)] - code->first;
}

// `blocks` says at which of `words` each block of the batch begins, tile by tile; the host has
// checked that all lie inside. Bits that are not those of 32 values are reported.
KERNEL(unpack)(GLOBAL const u32* words, GLOBAL const ChunkPlace* places,
               GLOBAL const u32* chunk_of_tile, GLOBAL const Quantizer* quantizers,
               GLOBAL const Code* code, GLOBAL const u32* entries, GLOBAL const u16* by_code,
               GLOBAL const u32* blocks, GLOBAL u32* values, u64 offset, GLOBAL u32* damaged) {
  LOCAL_MEMORY u32 staged[BLOCK * COLUMN];
  const u32 t = THREAD;
  const ChunkPlace chunk = places[chunk_of_tile[GROUP]];
  const u32 part = GROUP - chunk.first_tile;
  const u32 here = least(chunk.count - part * TILE, TILE);
  GLOBAL u32* const to = values + offset + chunk.first + part * TILE;
  if (chunk.kind == CHUNK_CONSTANT) {
    SHARE(i, 0u, here) to[i] = chunk.detail;
  }
  if (chunk.kind != CHUNK_CODED) return;
  if (t * BLOCK < here) {
    GLOBAL const u32* const block = words + blocks[GROUP * 256u + t];
    const u32 bits = block[0], end = (bits + 31u) / 32u;
    u32 at = 0;
    for (u32 i = 0; i < BLOCK; ++i) {
      u32 difference = 0;
      if (bits > 0u) {
        const u32 word = at / 32u;
        const u32 low = word < end ? block[1u + word] : 0u;
        const u32 high = word + 1u < end ? block[2u + word] : 0u;
        u32 length;
        difference =
            difference_of(((u64)high << 32 | low) >> (at % 32u), code, entries, by_code, &length);
        at += length;
      }
      staged[i * COLUMN + t] = difference;
    }
    if (at != bits) REPORT(&damaged[chunk_of_tile[GROUP]], 1u);
  }
  BARRIER();
  if (t < 256u / LANES) {
    const float step = quantizers[chunk.detail].step;
    LOCAL u32* const column = staged + t * LANES;
    Lanes sum = 0u;
#pragma unroll
    for (u32 i = 0; i < BLOCK; ++i) {
      sum += LOAD_LANES(column + i * COLUMN);
      const FloatLanes x = MUL_LANES(SUB_LANES(LANES_FLOAT(sum + MAGIC_BITS), MAGIC), step);
      STORE_LANES(LANES_BITS(x), column + i * COLUMN);
    }
  }
  BARRIER();
  SHARE(i, 0u, here) to[i] = staged[i % BLOCK * COLUMN + i / BLOCK];
}

// One group a chunk. The host has checked the positions.
KERNEL(put_outliers)(GLOBAL const u32* words, GLOBAL const ChunkPlace* places,
                     GLOBAL u32* values, u64 offset) {
  const ChunkPlace chunk = places[GROUP];
  if (chunk.kind != CHUNK_CODED) return;
  GLOBAL const u32* const positions = words + chunk.payload;
  SHARE(i, 0u, chunk.reserved) {
    values[offset + chunk.first + positions[i]] = positions[chunk.reserved + i];
  }
}
