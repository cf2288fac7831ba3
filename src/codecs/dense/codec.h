// Codec `dense`, the default: small streams at a high speed, with a bound. Two predictors, chosen
// for each chunk: Lorenzo on prequantized integers (lorenzo.h) and interpolation from reconstructed
// values (interpolation.h).
#pragma once

#include "codecs/bounded/field_coder.h"

namespace tensorpress::dense {

enum class Effort { fast, best };

std::unique_ptr<bounded::FieldCoder> make_dense(Effort effort);

}  // namespace tensorpress::dense
