#include "model/planner/problem.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"

namespace tensorpress::model::planner {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
// 2^12 sums of 2^50 bytes fit into 63 bits; so many pieces at one position need far smaller ones.
constexpr double kMostBytesTogether = 4.6e18;
constexpr std::size_t kMostActivations = 100'000;
constexpr std::size_t kMostPositions = 1'000'000;
constexpr std::size_t kMostOptions = 1'000'000;  // of all activations together

Result<void> validate_option(const Problem& problem, const Activation& activation,
                             const Option& option, double& bytes_together) {
  const auto where = [&] {
    return text("option '", option.name, "' of activation '", activation.name, "'");
  };
  if (option.stored_bytes < 0 || option.stored_bytes > kMostBytes) {
    return bad_argument(where(), " stores ", option.stored_bytes, " bytes; 0...", kMostBytes,
                        " are possible");
  }
  for (const Held& held : option.held) {
    if (held.bytes < 0 || held.bytes > kMostBytes) {
      return bad_argument(where(), " holds ", held.bytes, " bytes; 0...", kMostBytes,
                          " are possible");
    }
    if (held.first > held.last || held.last >= problem.positions.size()) {
      return bad_argument(where(), " holds bytes from position ", held.first, " to ", held.last,
                          ", but the step has positions 0...", problem.positions.size() - 1);
    }
    bytes_together += static_cast<double>(held.bytes);
  }
  bytes_together += static_cast<double>(option.stored_bytes);
  if (!std::isfinite(option.seconds) || option.seconds < 0 || !std::isfinite(option.error) ||
      option.error < 0 || !(option.score >= 0 && option.score <= 1)) {
    return bad_argument(where(), " has seconds ", option.seconds, ", error ", option.error,
                        " and score ", option.score,
                        "; the first two must be finite and not negative, the score in 0...1");
  }
  return {};
}

}  // namespace

Result<void> validate(const Problem& problem) {
  if (problem.positions.empty()) return bad_argument("a step without positions cannot be planned");
  if (problem.positions.size() > kMostPositions || problem.activations.size() > kMostActivations) {
    return too_large("a step of ", problem.positions.size(), " positions and ",
                     problem.activations.size(), " activations is too large to plan; at most ",
                     kMostPositions, " and ", kMostActivations, " are possible");
  }
  double bytes_together = 0;
  for (const Position& position : problem.positions) {
    if (position.base_bytes < 0 || position.base_bytes > kMostBytes) {
      return bad_argument("position '", position.name, "' has ", position.base_bytes,
                          " bytes; 0...", kMostBytes, " are possible");
    }
  }
  std::size_t options = 0;
  for (const Activation& activation : problem.activations) {
    if (activation.options.empty()) {
      return bad_argument("activation '", activation.name, "' has no option to choose");
    }
    options += activation.options.size();
    for (const Option& option : activation.options) {
      RETURN_IF_ERROR(validate_option(problem, activation, option, bytes_together));
    }
  }
  if (options > kMostOptions || bytes_together > kMostBytesTogether) {
    return too_large("a step with ", options, " options that hold ", rounded(bytes_together),
                     " bytes together is too large to plan");
  }
  for (const Conflict& conflict : problem.conflicts) {
    const auto exists = [&](std::size_t activation, std::size_t option) {
      return activation < problem.activations.size() &&
             option < problem.activations[activation].options.size();
    };
    if (!exists(conflict.activation, conflict.option) ||
        !exists(conflict.other_activation, conflict.other_option)) {
      return bad_argument("a conflict names option ", conflict.option, " of activation ",
                          conflict.activation, " and option ", conflict.other_option,
                          " of activation ", conflict.other_activation,
                          ", which do not both exist");
    }
  }
  return {};
}

Evaluation evaluate(const Problem& problem, const Choice& choice) {
  Evaluation result;
  // Differences first: a piece held over many positions costs two additions.
  std::vector<std::int64_t> change(problem.positions.size() + 1);
  double scores = 0;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const Option& option = problem.activations[i].options[choice[i]];
    for (const Held& held : option.held) {
      change[held.first] += held.bytes;
      change[held.last + 1] -= held.bytes;
    }
    result.stored_bytes += option.stored_bytes;
    result.seconds += option.seconds;
    result.error += option.error;
    result.lowest_score = std::min(result.lowest_score, option.score);
    scores += option.score;
  }
  if (!choice.empty()) result.mean_score = scores / static_cast<double>(choice.size());
  result.bytes.reserve(problem.positions.size());
  std::int64_t held_now = 0;
  for (std::size_t t = 0; t < problem.positions.size(); ++t) {
    held_now += change[t];
    result.bytes.push_back(problem.positions[t].base_bytes + held_now);
    if (t == 0 || result.bytes[t] > result.peak_bytes) {
      result.peak_bytes = result.bytes[t];
      result.peak_position = t;
    }
  }
  for (const Conflict& conflict : problem.conflicts) {
    if (choice[conflict.activation] == conflict.option &&
        choice[conflict.other_activation] == conflict.other_option) {
      result.conflict_free = false;
    }
  }
  return result;
}

}  // namespace tensorpress::model::planner
