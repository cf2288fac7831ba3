// The registry's entry for ceresz.
#pragma once

#include "codecs/registry.h"

namespace tensorpress::ceresz {

extern const RegisteredCodec kCodec;

}  // namespace tensorpress::ceresz
