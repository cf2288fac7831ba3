// Codec `quantize`: groups of values to codes of 1 to 6 or 8 bits with a minimum and a scale.
// Fixed rate; made for activations (docs/adr/0014).
#include <array>

#include "codecs/pack/packed_codec.h"
#include "codecs/parameter_values.h"
#include "codecs/quantize/options.h"
#include "codecs/registry.h"
#include "kernels/quantize/group_scale.h"

namespace tensorpress::quantize {
namespace {

constexpr std::array<ParameterInfo, 4> kParameters = {{
    {"bits", "4", "1|2|3|4|5|6|8", "bits a value"},
    {"group", "256", "32..65536",
     "values that share a minimum and a scale: a multiple of 256 / bits, of 128 for 6 bits, of 256 "
     "for 3 and 5"},
    {"rounding", "nearest", "nearest|stochastic",
     "to the nearest code (1 bit: to two means), or up or down at random, without a bias"},
    {.name = "seed",
     .default_value = "0",
     .choices = "0..2^64-1",
     .help = "with `rounding` stochastic: another number, other roundings",
     .needs = ParameterNeed{"rounding", "stochastic"}},
}};

QuantizeOptions for_chunk(const QuantizeOptions& options, const ChunkWorkspace& workspace) {
  return options_for_chunk(options, workspace.origin);
}

Result<std::unique_ptr<ChunkCodec>> create(std::span<const Parameter> parameters) {
  TRY(const QuantizeOptions options, options_of(parameters));
  return std::unique_ptr<ChunkCodec>(std::make_unique<packing::PackedCodec<QuantizeOptions>>(
      "quantize", options, false, options.group, for_chunk));
}

}  // namespace

Result<QuantizeOptions> options_of(std::span<const Parameter> parameters) {
  ENSURE(parameters.size() == kParameters.size());
  constexpr std::array kBits = {1, 2, 3, 4, 5, 6, 8};
  QuantizeOptions options;
  TRY(const int bits, one_of(kParameters[0], parameters[0].value));
  options.bits = kBits[static_cast<std::size_t>(bits)];
  TRY(const int group, whole_number("group", parameters[1].value, 1, 65536));
  options.group = static_cast<std::size_t>(group);
  TRY(const int stochastic, one_of(kParameters[2], parameters[2].value));
  options.rounding = stochastic == 1 ? Rounding::stochastic : Rounding::nearest;
  TRY(options.seed, whole_number_u64("seed", parameters[3].value));
  RETURN_IF_ERROR(packing::check(DType::f32, options));
  return options;
}

QuantizeOptions options_for_chunk(const QuantizeOptions& options,
                                  const std::array<std::uint64_t, kMaxRank>& origin) {
  QuantizeOptions own = options;
  for (std::size_t axis = 0; axis < origin.size(); ++axis) {
    if (origin[axis] == 0) continue;
    own.seed = kernels::mix64(own.seed ^ kernels::mix64(origin[axis] * kMaxRank + axis));
  }
  return own;
}

extern constinit const RegisteredCodec kCodec = {
    {"quantize", "fixed rate: 1 to 6 or 8 bits a value in groups with their own scale",
     kParameters},
    create};

}  // namespace tensorpress::quantize
