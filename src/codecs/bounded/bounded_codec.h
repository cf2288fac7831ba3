// A FieldCoder made into a codec: what a bound needs beyond coding ordinary values is here, once
// for all error-bounded codecs.
//
// A coded chunk:
//   u8 flags             which of the parts below there are
//   [kConstant]  value   every element outside the mask; nothing but special values may follow
//   [kSpecials]  mask, special values          NaN, infinities, fill values (with pw-rel: zeros)
//   [kSigns]     mask                          pw-rel: which values are negative
//   [kPatches]   patches                       elements whose bound the coder did not keep
//   [kCoded]     the FieldCoder's bytes, to the end
// masks: mask.h; special values and patches: exact_values.h.
//
// Ordinary values of f32 and f64 go to the coder as they are; f16 and bf16 as floats, checked in
// their own type afterwards. Point-wise bounds code log2|x|.
#pragma once

#include <memory>

#include "codecs/bounded/field_coder.h"
#include "codecs/bounded/parameters.h"

namespace tensorpress::bounded {

std::unique_ptr<ChunkCodec> make_bounded_codec(std::shared_ptr<const FieldCoder> coder,
                                               Parameters parameters);

/// Whether error-bounded codecs take elements of this type.
Result<void> check_dtype(std::string_view codec, DType dtype);

}  // namespace tensorpress::bounded
