// Codec `cast`: elements in a smaller floating-point type, bf16, f16 or fp8. Fixed rate.
#pragma once

#include "codecs/registry.h"

namespace tensorpress::cast {

extern const RegisteredCodec kCodec;

}  // namespace tensorpress::cast
