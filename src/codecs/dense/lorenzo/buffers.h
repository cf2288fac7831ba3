// What the Lorenzo coder keeps between chunks, for the encoder and the decoder.
#pragma once

#include "tensorpress/aligned_buffer.h"

namespace tensorpress::dense {

struct LorenzoBuffers {
  AlignedBuffer quanta;  // of 32 bits, or of 64 for wide chunks
  AlignedBuffer differences;
  AlignedBuffer wide_differences;
  AlignedBuffer outliers;  // their places
  AlignedBuffer cells;     // of blocks
  AlignedBuffer classes;   // of blocks
};

}  // namespace tensorpress::dense
