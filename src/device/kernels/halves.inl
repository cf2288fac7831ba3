// f32 to f16 and bf16 and back, as bits: integer arithmetic as in base/tensor/half_types.h, so that
// rounding does not depend on a device's own conversions.

// Of a number.
FUNCTION u32 nearest_bf16(u32 bits) {
  return (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
}

FUNCTION u32 bf16_of(u32 bits) {
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
    const u32 high = bits >> 16;
    return (high & 0x7Fu) != 0u ? high : high | 0x40u;
  }
  return nearest_bf16(bits);
}

FUNCTION u32 f16_of(u32 bits) {
  const u32 sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  const u32 exponent = magnitude >> 23;
  u32 code = 0;
  if (magnitude > 0x7F800000u) {
    const u32 payload = (magnitude >> 13) & 0x3FFu;
    code = 0x7C00u | (payload != 0u ? payload : 0x200u);
  } else if (magnitude >= 0x477FF000u) {
    code = 0x7C00u;
  } else if (exponent >= 113u) {
    code = ((magnitude + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13) - (112u << 10);
  } else if (exponent >= 102u) {
    const u32 significand = (magnitude & 0x7FFFFFu) | 0x800000u, shift = 126u - exponent;
    code = significand >> shift;
    const u32 rest = significand & ((1u << shift) - 1u), tie = 1u << (shift - 1u);
    code += rest > tie || (rest == tie && (code & 1u) != 0u);
  }
  return sign | code;
}

FUNCTION u32 bits_of_f16(u32 code) {
  const u32 sign = (code & 0x8000u) << 16, exponent = (code >> 10) & 0x1Fu, fraction = code & 0x3FFu;
  if (exponent == 31u) return sign | 0x7F800000u | (fraction << 13);
  if (exponent != 0u) return sign | ((exponent + 112u) << 23) | (fraction << 13);
  if (fraction == 0u) return sign;
  const u32 shift = LEADING_ZEROS(fraction) - 21u;
  return sign | ((113u - shift) << 23) | (((fraction << shift) & 0x3FFu) << 13);
}
