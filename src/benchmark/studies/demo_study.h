// The demonstration's measurements: one tensor through dct-chop at every chop factor, in the
// square and the triangle layout and with ZFP's transform, and through the error-bounded codecs.
#pragma once

#include <functional>
#include <string>

#include "benchmark/round_trip.h"

namespace tensorpress::benchmark {

/// "DCT square", "DCT triangle" or "ZFP square"; "dense" or "ceresz".
std::string variant_name(const Codec& codec);
/// What was chosen: a chop factor, or a share of the value range as the largest error.
std::string setting_of(const Codec& codec);
/// The chop factor; 0 for codecs without.
int chop_factor(const Codec& codec);

/// Takes a measured row and the tensor as it came back.
using TakeRow = std::function<void(RoundTrip trip, const TensorView& copy)>;

/// dct-chop at every chop factor; for floating-point elements also the error-bounded codecs.
/// Elements of u8 get f16 coefficients, because f32 would make them larger; all others f32.
Result<void> run_demo_study(const TensorView& tensor, const RoundTripOptions& options,
                            const TakeRow& take_row);

}  // namespace tensorpress::benchmark
