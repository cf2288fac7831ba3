// Codec `mask`: one bit a value, exactly, for chunks with only 0 and one other value. Others are
// stored raw.
#pragma once

#include "codecs/registry.h"

namespace tensorpress::mask {

extern const RegisteredCodec kCodec;

}  // namespace tensorpress::mask
