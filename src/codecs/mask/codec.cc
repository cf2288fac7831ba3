// Codec `mask`: one bit a value, exactly, for chunks with only 0 and one other value. Others are
// stored raw.
#include "codecs/pack/packed_codec.h"
#include "codecs/registry.h"

namespace tensorpress::mask {
namespace {

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  ENSURE(parameters.empty());
  return std::unique_ptr<ChunkCodec>(
      std::make_unique<packing::PackedCodec<MaskOptions>>("mask", MaskOptions{}, true, 64));
}

}  // namespace

extern constinit const RegisteredCodec kCodec = {
    {"mask", "exact: 1 bit a value where values are 0 or one other, else as they are", {}}, create};

}  // namespace tensorpress::mask
