#include "codecs/mask/codec.h"

#include "codecs/pack/packed_codec.h"

namespace tensorpress::mask {
namespace {

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  ENSURE(parameters.empty());
  return std::unique_ptr<ChunkCodec>(
      std::make_unique<packing::PackedCodec<MaskOptions>>("mask", MaskOptions{}, true, 64));
}

}  // namespace

constinit const RegisteredCodec kCodec = {
    {"mask", "exact: 1 bit a value where values are 0 or one other, else as they are", {}}, create};

}  // namespace tensorpress::mask
