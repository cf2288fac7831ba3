// Codec `dense`, the default: small streams at a high speed, with a bound. Four predictors, chosen
// for each chunk: Lorenzo on prequantized integers (lorenzo.h), interpolation from reconstructed
// values (interpolation.h), wavelets (wavelet.h) and values that recur (recurring/coding.h).
#pragma once

#include "codecs/bounded/field_coder.h"

namespace tensorpress::dense {

enum class Effort { fast, normal, best };

std::unique_ptr<bounded::FieldCoder> make_dense(Effort effort);

}  // namespace tensorpress::dense
