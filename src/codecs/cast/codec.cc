// Codec `cast`: elements in a smaller floating-point type, bf16, f16 or fp8. Fixed rate.
#include <array>

#include "codecs/cast/options.h"
#include "codecs/pack/packed_codec.h"
#include "codecs/parameter_values.h"
#include "codecs/registry.h"

namespace tensorpress::cast {
namespace {

constexpr std::array<ParameterInfo, 1> kParameters = {{
    {"to", "bf16", "bf16|f16|e4m3|e5m2", "the type to store: 16 bits, or fp8 of either kind"},
}};

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  TRY(const CastOptions options, options_of(parameters));
  return std::unique_ptr<ChunkCodec>(
      std::make_unique<packing::PackedCodec<CastOptions>>("cast", options, false, 64));
}

}  // namespace

Result<CastOptions> options_of(std::span<const Parameter> parameters) {
  ENSURE(parameters.size() == kParameters.size());
  constexpr std::array kTypes = {CastType::bf16, CastType::f16, CastType::e4m3, CastType::e5m2};
  TRY(const int to, one_of(kParameters[0], parameters[0].value));
  return CastOptions{.to = kTypes[static_cast<std::size_t>(to)]};
}

extern constinit const RegisteredCodec kCodec = {
    {"cast", "fixed rate: a smaller floating-point type, bf16, f16 or fp8", kParameters}, create};

}  // namespace tensorpress::cast
