// What the parameters of codec cast mean, for the codec and for devices.
#pragma once

#include <span>

#include "tensorpress/codec.h"
#include "tensorpress/pack.h"

namespace tensorpress::cast {

/// Complete and in the codec's order. The error says what is allowed.
Result<CastOptions> options_of(std::span<const Parameter> parameters);

}  // namespace tensorpress::cast
