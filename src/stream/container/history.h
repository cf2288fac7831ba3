// What happened to values before they came here: the steps of lossy compression, oldest first, each
// with the error that it kept. A stream and a variable of a NetCDF or HDF5 file carry them in their
// attribute `tensorpress_history`, as text: "dense abs 0.05; ceresz abs 0.02". That of a stream has
// the steps before its own, which its header states; that of a variable has all of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorpress/stream.h"

namespace tensorpress::stream {

inline constexpr std::string_view kHistoryAttribute = "tensorpress_history";

struct HistoryStep {
  std::string codec;
  /// Absolute or point-wise relative, against what the step was given. Absent where the codec kept
  /// no bound.
  std::optional<Bound> error = {};
  friend bool operator==(const HistoryStep&, const HistoryStep&) = default;
};

using History = std::vector<HistoryStep>;

std::string to_text(const History& history);
/// From any text. Empty text is an empty history.
Result<History> parse_history(std::string_view text);

/// What a stream was made of, and then the stream itself: what a copy of its values has behind it.
Result<History> history_before(std::span<const Attribute> attributes);
Result<History> history_with(const StreamInfo& info);

/// All steps together, against the first values: an absolute or a point-wise relative bound. Absent
/// for an empty history, and where the steps do not add up (no bound, or bounds of both kinds).
std::optional<Bound> error_of(const History& history);

/// The sum of two absolute errors, never below the true one.
double sum_rounded_up(double a, double b);

}  // namespace tensorpress::stream
