// The large buffers of the predictors, which run one after the other and lie in the same memory:
// what one leaves here, the next overwrites, so nothing may be read after a predictor has returned.
#pragma once

#include "codecs/workspace_memory.h"

namespace tensorpress::dense {

struct PredictorBuffers {
  AlignedBuffer values;     // coefficients, reconstructed values, numbers or quanta of values
  AlignedBuffer residuals;  // what is coded: quanta of coefficients, differences, symbols
  AlignedBuffer classes;    // of these
  AlignedBuffer contexts;   // what classes come from, and grids of stencils
  AlignedBuffer coded;      // words, until it is known whether they fit
};

}  // namespace tensorpress::dense
