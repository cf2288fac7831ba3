#include "model/policy/storing_cost.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/policy/levels.h"

namespace tensorpress::model {
namespace {

// Bytes of the unpacked side a second, one core of a 2-core EPYC 7003 virtual machine, in a step
// (fresh buffers, page faults): packing 12e9, unpacking 8e9; a tensor rebuilt by a few passes over
// memory 5e9.
constexpr double kPackBytesPerSecond = 12e9;
constexpr double kUnpackBytesPerSecond = 8e9;
constexpr double kRebuildBytesPerSecond = 5e9;
constexpr double kRangeOfGroup = 5.5;  // in standard deviations
constexpr double kUsualBound = 1e-2;   // where a bound is not told relative to the range

double expected_error(const Storing& storing) {
  switch (storing.kind) {
    case Storing::Kind::keep:
    case Storing::Kind::rebuild:
    case Storing::Kind::offload:
      return 0;
    case Storing::Kind::quantize: {
      const double step = kRangeOfGroup / (std::pow(2.0, storing.bits) - 1);
      // One of the two ends of the range; the mean of (end - x)(x + end), as most are in the
      // middle.
      if (storing.bits == 1 && storing.stochastic) return step * step / 4 - 1;
      return step * step / (storing.stochastic ? 6 : 12);
    }
    case Storing::Kind::cast: {
      // Half a unit in the last of so many stored bits, uniformly spread.
      const double digits = storing.type == "f16"    ? 11
                            : storing.type == "bf16" ? 8
                            : storing.type == "e4m3" ? 4
                                                     : 3;
      return std::pow(2.0, -2 * digits) / 3;
    }
    case Storing::Kind::chop:
      // Feature maps are nearly white: what is cut away is lost and shrinks the gradient.
      return 1 - storing.chop_factor * storing.chop_factor / 64.0;
    case Storing::Kind::bounded: {
      // The bound is half a step of the tensor's range.
      const double step =
          2 * kRangeOfGroup * (storing.bound == "relative" ? storing.bound_value : kUsualBound);
      return step * step / 12;
    }
  }
  return 0;
}

double error_of(double score) {
  return 2 * (1 / std::max(score, 1e-3) - 1);
}

/// From most bits to fewest.
std::vector<Storing> quantize_steps() {
  std::vector<Storing> steps = levels().ladder;
  steps.insert(steps.end(), levels().between.begin(), levels().between.end());
  steps.push_back(levels().one_bit);
  std::ranges::sort(steps, std::greater(), &Storing::bits);
  return steps;
}

}  // namespace

StoringCost storing_cost(const Storing& storing, std::int64_t value_bytes,
                         std::optional<double> measured_score, std::optional<double> sensitivity) {
  StoringCost cost;
  const auto amount = static_cast<double>(value_bytes);
  if (storing.kind == Storing::Kind::keep) return cost;
  cost.seconds = storing.kind == Storing::Kind::rebuild
                     ? amount / kRebuildBytesPerSecond
                     : amount / kPackBytesPerSecond + amount / kUnpackBytesPerSecond;
  cost.error = expected_error(storing);
  cost.score = 1 / (1 + cost.error / 2);
  if (measured_score) {
    cost.score = std::clamp(*measured_score, 0.0, 1.0);
    cost.error = error_of(cost.score);
  }
  if (sensitivity) cost.error = *sensitivity * expected_error(storing);
  return cost;
}

double sensitivity_of(double measured_error, const Storing& measured) {
  return measured_error / expected_error(measured);
}

double scaled_score(double score, const Storing& measured, const Storing& wanted) {
  const double error = error_of(score) * expected_error(wanted) / expected_error(measured);
  return 1 / (1 + error / 2);
}

double score_of_half_the_bits(double score) {
  return 1 / (1 + error_of(score));
}

Storing quantize_level(int bits) {
  for (const Storing& step : quantize_steps()) {
    if (step.bits == bits) return step;
  }
  return {.kind = Storing::Kind::quantize, .bits = bits};
}

std::vector<Storing> storing_levels(int fewest_bits) {
  std::vector<Storing> steps = {{.kind = Storing::Kind::cast, .type = "bf16"}};
  for (const Storing& step : quantize_steps()) {
    if (step.bits >= fewest_bits) steps.push_back(step);
  }
  return steps;
}

}  // namespace tensorpress::model
