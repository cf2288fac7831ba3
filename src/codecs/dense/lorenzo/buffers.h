// What the Lorenzo coder keeps between chunks beside PredictorBuffers, whose values are its quanta
// (of 32 bits, or of 64 for wide chunks) and whose residuals are its differences.
#pragma once

#include "codecs/dense/predictor_buffers.h"

namespace tensorpress::dense {

struct LorenzoBuffers {
  AlignedBuffer wide_differences;
  AlignedBuffer outliers;  // their places
  AlignedBuffer cells;     // of blocks
  AlignedBuffer classes;   // of blocks
};

}  // namespace tensorpress::dense
