// Codec cast: f32 to bf16, f16 or fp8 and back. Integer arithmetic as in base/tensor/half_types.h
// and kernels/fp8/fp8_ref.h, so that rounding does not depend on a device's own conversions.
#define TO_F16 0u /* the numbers of CastType */
#define TO_BF16 1u
#define TO_E4M3 2u
#define TO_E5M2 3u

// Of a finite number: 3 bits of fraction (E4M3) or 2 (E5M2).
FUNCTION u32 fp8_of(u32 bits, u32 fraction_bits) {
  const u32 sign = (bits >> 24) & 0x80u, magnitude = bits & 0x7FFFFFFFu;
  const u32 shift = 23u - fraction_bits, is_e4m3 = fraction_bits == 3u;
  const u32 smallest_normal = (is_e4m3 ? 121u : 113u) << 23;
  if (magnitude < smallest_normal) {
    const u32 rounder = is_e4m3 ? 0x46800000u : 0x43000000u; /* 2^14, 2^7 */
    return sign | (BITS(ADD(FLOAT(magnitude), FLOAT(rounder))) - rounder);
  }
  const u32 up = (1u << (shift - 1u)) - 1u + ((magnitude >> shift) & 1u);
  const u32 code = ((magnitude + up) >> shift) - ((is_e4m3 ? 120u : 112u) << fraction_bits);
  const u32 largest = is_e4m3 ? 0x7Eu : 0x7Bu;
  return sign | (code < largest ? code : largest);
}

FUNCTION u32 bits_of_e4m3(u32 code) {
  const u32 sign = (code & 0x80u) << 24, magnitude = code & 0x7Fu;
  if (magnitude == 0x7Fu) return sign | 0x7FC00000u;
  if (magnitude < 8u) return sign | BITS(MUL((float)magnitude, FLOAT(0x3B000000u))); /* 2^-9 */
  return sign | ((magnitude << 20) + (120u << 23));
}

// A tile of 8192 values of a chunk. `unfit` is set for chunks with a magnitude above `largest`,
// whose bits it is; infinities and NaN are among them.
KERNEL(narrow)(GLOBAL const u32* values, u64 offset, GLOBAL const ChunkPlace* places,
               GLOBAL const u32* chunk_of_tile, u32 type, u32 largest, GLOBAL u8* bytes,
               GLOBAL u32* unfit) {
  const ChunkPlace chunk = places[chunk_of_tile[GROUP]];
  const u32 first = (GROUP - chunk.first_tile) * 8192u;
  const u32 end = least(chunk.count, first + 8192u);
  u32 beyond = 0;
  GLOBAL const u32* const from = values + offset + chunk.first;
  GLOBAL u8* const to = bytes + chunk.payload;
  if (type == TO_BF16) {
    SHARE(i, first, end) {
      beyond |= (from[i] & 0x7FFFFFFFu) > largest;
      ((GLOBAL u16*)to)[i] = (u16)nearest_bf16(from[i]);
    }
  } else if (type == TO_F16) {
    SHARE(i, first, end) {
      beyond |= (from[i] & 0x7FFFFFFFu) > largest;
      ((GLOBAL u16*)to)[i] = (u16)f16_of(from[i]);
    }
  } else {
    SHARE(i, first, end) {
      beyond |= (from[i] & 0x7FFFFFFFu) > largest;
      to[i] = (u8)fp8_of(from[i], type == TO_E4M3 ? 3u : 2u);
    }
  }
  if (beyond) REPORT(&unfit[chunk_of_tile[GROUP]], 1u);
}

KERNEL(widen)(GLOBAL const u8* bytes, GLOBAL const ChunkPlace* places,
              GLOBAL const u32* chunk_of_tile, u32 type, GLOBAL u32* values, u64 offset) {
  const ChunkPlace chunk = places[chunk_of_tile[GROUP]];
  if (chunk.kind != CHUNK_CODED) return;
  const u32 first = (GROUP - chunk.first_tile) * 8192u;
  const u32 end = least(chunk.count, first + 8192u);
  GLOBAL const u8* const from = bytes + chunk.payload;
  GLOBAL u32* const to = values + offset + chunk.first;
  if (type == TO_BF16) {
    SHARE(i, first, end) to[i] = (u32)((GLOBAL const u16*)from)[i] << 16;
  } else if (type == TO_F16) {
    SHARE(i, first, end) to[i] = bits_of_f16(((GLOBAL const u16*)from)[i]);
  } else if (type == TO_E4M3) {
    SHARE(i, first, end) to[i] = bits_of_e4m3(from[i]);
  } else {
    SHARE(i, first, end) to[i] = bits_of_f16((u32)from[i] << 8);
  }
}
