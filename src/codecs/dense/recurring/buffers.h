#pragma once

#include "codecs/workspace_memory.h"

namespace tensorpress::dense {

struct RecurringBuffers {
  AlignedBuffer numbers;            // with zeros before the first
  AlignedBuffer contexts, symbols;  // of the encoder
  AlignedBuffer words;              // of the coder
};

}  // namespace tensorpress::dense
