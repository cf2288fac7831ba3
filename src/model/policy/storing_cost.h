// What a way of waiting costs beside memory: time to pack and unpack, and harm to the gradient.
//
// Harm without measurements: for values spread like a normal distribution, whose range in a group
// of 256 is about 5.5 standard deviations, quantizing to b bits leaves a relative squared error
// of (5.5 / (2^b - 1))^2 / 12 when rounded to nearest and twice that when rounded stochastically.
// The score is that of a gradient with this unbiased error, S = 1 / (1 + error / 2); a measured
// score of the same storing takes its place and gives the error back through the same formula.
#pragma once

#include <optional>
#include <vector>

#include "model/policy/policy.h"

namespace tensorpress::model {

struct StoringCost {
  double seconds = 0;
  double error = 0;  // relative and squared
  double score = 1;
};

/// `sensitivity`: how many times its own error without measurements a stored value causes in the
/// gradients; where it is given, the error is that many times the one expected of the storing.
StoringCost storing_cost(const Storing& storing, std::int64_t value_bytes,
                         std::optional<double> measured_score,
                         std::optional<double> sensitivity = {});

/// Which sensitivity a measured squared error of the gradients shows.
double sensitivity_of(double measured_error, const Storing& measured);

/// The score of `wanted` where only that of `measured` is known: errors in the ratio that they have
/// without measurements.
double scaled_score(double score, const Storing& measured, const Storing& wanted);

/// The best that half the bits of a value can have if all of them have this one. Steps of quantized
/// values become four times as wide or more; a gradient's squared error at least doubles.
double score_of_half_the_bits(double score);

/// `bits` a value, rounded as levels.toml says.
Storing quantize_level(int bits);
/// What a policy may choose from besides keeping, rebuilding and offloading, largest first.
std::vector<Storing> storing_levels(int fewest_bits = 2);

}  // namespace tensorpress::model
