#include "codecs/registry.h"

#include <array>

#include "codecs/cast/codec.h"
#include "codecs/ceresz/codec.h"
#include "codecs/ceresz2/codec.h"
#include "codecs/dct_chop/dct_chop.h"
#include "codecs/dense/codec.h"
#include "codecs/mask/codec.h"
#include "codecs/quantize/codec.h"

namespace tensorpress {

std::span<const RegisteredCodec* const> registered_codecs() {
  static constexpr std::array<const RegisteredCodec*, 7> kCodecs = {
      &dense::kCodec,    &ceresz2::kCodec, &ceresz::kCodec, &dct_chop::kCodec,
      &quantize::kCodec, &cast::kCodec,    &mask::kCodec,
  };
  return kCodecs;
}

}  // namespace tensorpress
