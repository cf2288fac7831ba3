// Codec `dense`, the default: small streams at a high speed, with a bound. Two predictors, chosen
// for each chunk: Lorenzo on prequantized integers (lorenzo.h) and interpolation from reconstructed
// values (interpolation.h).
#pragma once

#include "codecs/bounded/field_coder.h"
#include "codecs/registry.h"

namespace tensorpress::dense {

extern const RegisteredCodec kCodec;

enum class Effort { fast, best };

std::unique_ptr<bounded::FieldCoder> make_dense(Effort effort);

}  // namespace tensorpress::dense
