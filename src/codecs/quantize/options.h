// What the parameters of codec quantize mean, for the codec and for devices.
#pragma once

#include <array>
#include <span>

#include "tensorpress/codec.h"
#include "tensorpress/pack.h"

namespace tensorpress::quantize {

/// Complete and in the codec's order. The error says what is allowed.
Result<QuantizeOptions> options_of(std::span<const Parameter> parameters);

/// Chunks round independently of each other: those after the first have a seed of their own, which
/// depends on where they begin. The first one has the seed of pack.h.
QuantizeOptions options_for_chunk(const QuantizeOptions& options,
                                  const std::array<std::uint64_t, kMaxRank>& origin);

}  // namespace tensorpress::quantize
