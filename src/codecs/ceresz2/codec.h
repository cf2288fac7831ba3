// The registry's entry for ceresz2.
#pragma once

#include "codecs/registry.h"

namespace tensorpress::ceresz2 {

extern const RegisteredCodec kCodec;

}  // namespace tensorpress::ceresz2
