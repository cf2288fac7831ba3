#include "codecs/registry.h"

#include <algorithm>
#include <array>

// One line a codec, in the order of the help texts. Its directory defines kCodec in a namespace of
// this name.
// clang-format off
#define TENSORPRESS_CODECS(line) \
  line(dense)                    \
  line(ceresz2)                  \
  line(ceresz)                   \
  line(dct_chop)                 \
  line(quantize)                 \
  line(cast)                     \
  line(mask)
// clang-format on

#define TENSORPRESS_DECLARE(codec)     \
  namespace tensorpress::codec {       \
  extern const RegisteredCodec kCodec; \
  }
TENSORPRESS_CODECS(TENSORPRESS_DECLARE)
#undef TENSORPRESS_DECLARE

namespace tensorpress {

std::span<const RegisteredCodec* const> registered_codecs() {
#define TENSORPRESS_ENTRY(codec) &codec::kCodec,
  static constexpr std::array kCodecs = {TENSORPRESS_CODECS(TENSORPRESS_ENTRY)};
#undef TENSORPRESS_ENTRY
  return kCodecs;
}

const RegisteredCodec* find_codec(std::string_view name) {
  const auto codecs = registered_codecs();
  const auto found = std::ranges::find(codecs, name, [](auto* each) { return each->info.name; });
  return found == codecs.end() ? nullptr : *found;
}

const RegisteredCodec* find_hdf5_codec(std::uint32_t number) {
  if (number == 0) return nullptr;
  const auto codecs = registered_codecs();
  const auto found =
      std::ranges::find(codecs, number, [](auto* each) { return each->hdf5.number; });
  return found == codecs.end() ? nullptr : *found;
}

}  // namespace tensorpress
