// Codec `dct-chop`: DCT+Chop (Shah, Yu, Di, Becchi, Cappello; HPDC'24), its triangle layout, its
// matrix form, ZFP's transform from its future work, and coefficients in 16 bits. Fixed rate.
#pragma once

#include "codecs/registry.h"

namespace tensorpress::dct_chop {

extern const RegisteredCodec kCodec;

}  // namespace tensorpress::dct_chop
