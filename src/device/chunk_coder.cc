#include "device/chunk_coder.h"

#include <algorithm>
#include <array>

namespace tensorpress::device {

// The list of coders: each gives nothing for codecs, parameters and types that it does not know.
std::unique_ptr<ChunkCoder> make_ceresz_coder(const Codec& codec, DType dtype);
std::unique_ptr<ChunkCoder> make_ceresz2_coder(const Codec& codec, DType dtype);
std::unique_ptr<ChunkCoder> make_quantize_coder(const Codec& codec, DType dtype);
std::unique_ptr<ChunkCoder> make_cast_coder(const Codec& codec, DType dtype);
std::unique_ptr<ChunkCoder> make_mask_coder(const Codec& codec, DType dtype);
std::unique_ptr<ChunkCoder> make_dct_chop_coder(const Codec& codec, DType dtype);

std::unique_ptr<ChunkCoder> chunk_coder_of(const Codec& codec, DType dtype) {
  constexpr std::array kMakers = {make_ceresz_coder, make_ceresz2_coder, make_quantize_coder,
                                  make_cast_coder,   make_mask_coder,    make_dct_chop_coder};
  for (const auto make : kMakers) {
    if (auto coder = make(codec, dtype)) return coder;
  }
  return nullptr;
}

}  // namespace tensorpress::device
