// Codec `quantize`: groups of values to codes of 1, 2, 4 or 8 bits with a minimum and a scale.
// Fixed rate; made for activations (docs/adr/0014).
#pragma once

#include "codecs/registry.h"

namespace tensorpress::quantize {

extern const RegisteredCodec kCodec;

}  // namespace tensorpress::quantize
