// Codec mask: one bit a value where a chunk's values are 0 or one other, compared as bits.
#define HEADER 8u

// One group a chunk: the first value that is not 0.
KERNEL(find_other)(GLOBAL const u32* values, u64 offset, GLOBAL const ChunkPlace* places,
                   GLOBAL u32* others) {
  LOCAL_MEMORY u32 firsts[256];
  const ChunkPlace chunk = places[GROUP];
  const u32 t = THREAD;
  u32 first = chunk.count;
  SHARE(i, 0u, chunk.count) {
    if (values[offset + chunk.first + i] != 0u) {
      first = i;
      break;
    }
  }
  firsts[t] = first;
  BARRIER();
  for (u32 half_ = 128; half_ > 0u; half_ >>= 1) {
    if (t < half_) firsts[t] = least(firsts[t], firsts[t + half_]);
    BARRIER();
  }
  if (t == 0u) others[GROUP] = firsts[0] < chunk.count ? values[offset + chunk.first + firsts[0]] : 0u;
}

// A tile of 8192 values: 256 words of bits.
KERNEL(pack_equal)(GLOBAL const u32* values, u64 offset, GLOBAL const ChunkPlace* places,
                   GLOBAL const u32* chunk_of_tile, GLOBAL const u32* others, GLOBAL u8* bytes,
                   GLOBAL u32* unfit) {
  LOCAL_MEMORY u8 equal[8192 + 256];  // a byte of padding a word, so that threads use other banks
  const u32 number = chunk_of_tile[GROUP];
  const ChunkPlace chunk = places[number];
  const u32 t = THREAD, other = others[number];
  const u32 first = (GROUP - chunk.first_tile) * 8192u;
  const u32 count = least(chunk.count - first, 8192u);
  u32 third = 0;
  SHARE(i, 0u, 8192u) {
    const u32 value = i < count ? values[offset + chunk.first + first + i] : 0u;
    equal[i + i / 32u] = value != 0u;
    third |= value != 0u && value != other;
  }
  if (third) REPORT(&unfit[number], 1u);
  BARRIER();
  u32 word = 0;
  for (u32 i = 0; i < 32u; ++i) word |= (u32)equal[t * 33u + i] << i;
  GLOBAL u8* const payload = bytes + chunk.payload;
  if (first == 0u && t < HEADER) payload[t] = t < 4u ? (u8)(other >> (8u * t)) : (u8)0;
  const u32 at = first / 8u + 4u * t, size = (chunk.count + 7u) / 8u;
  for (u32 i = 0; i < 4u; ++i) {
    if (at + i < size) payload[HEADER + at + i] = (u8)(word >> (8u * i));
  }
}

KERNEL(expand)(GLOBAL const u8* bytes, GLOBAL const ChunkPlace* places,
               GLOBAL const u32* chunk_of_tile, GLOBAL u32* values, u64 offset) {
  const ChunkPlace chunk = places[chunk_of_tile[GROUP]];
  if (chunk.kind != CHUNK_CODED) return;
  GLOBAL const u8* const payload = bytes + chunk.payload;
  const u32 other = *(GLOBAL const u32*)payload;
  const u32 first = (GROUP - chunk.first_tile) * 8192u;
  const u32 end = least(chunk.count, first + 8192u);
  SHARE(i, first, end) {
    const u32 bit = ((u32)payload[HEADER + i / 8u] >> (i % 8u)) & 1u;
    values[offset + chunk.first + i] = bit ? other : 0u;
  }
}
