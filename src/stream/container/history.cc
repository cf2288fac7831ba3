#include "stream/container/history.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.h"
#include "codecs/bounded/parameters.h"

namespace tensorpress::stream {
namespace {

constexpr std::string_view kBetween = "; ";

Result<HistoryStep> parse_step(std::string_view step) {
  const std::size_t space = step.find(' ');
  HistoryStep parsed{.codec = std::string(step.substr(0, space))};
  if (parsed.codec.empty()) return corrupt("a history has a step without a codec");
  if (space == std::string_view::npos) return parsed;
  TRY(parsed.error, Bound::parse(step.substr(space + 1)));
  const auto kind = parsed.error->kind();
  if (kind != Bound::Kind::absolute && kind != Bound::Kind::pointwise_relative) {
    return corrupt("the history step '", step, "' has neither an absolute nor a point-wise error");
  }
  return parsed;
}

/// What the stream kept against its own input.
std::optional<Bound> error_of(const Codec& codec) {
  const auto promised = bounded::parse(codec.parameters());
  if (!promised.ok() || !promised->bound) return std::nullopt;
  if (promised->pointwise()) return promised->bound;
  if (!promised->limit) return std::nullopt;
  return Bound::absolute(*promised->limit);
}

}  // namespace

std::string to_text(const History& history) {
  std::string all;
  for (const HistoryStep& step : history) {
    all += text(all.empty() ? std::string_view() : kBetween, step.codec);
    if (step.error) all += text(" ", step.error->to_string());
  }
  return all;
}

Result<History> parse_history(std::string_view text) {
  History history;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(kBetween), text.size());
    TRY(HistoryStep step, parse_step(text.substr(0, end)));
    history.push_back(std::move(step));
    text.remove_prefix(std::min(end + kBetween.size(), text.size()));
  }
  return history;
}

Result<History> history_before(std::span<const Attribute> attributes) {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == kHistoryAttribute) return parse_history(attribute.value);
  }
  return History();
}

Result<History> history_with(const StreamInfo& info) {
  TRY(History history, history_before(info.attributes));
  history.push_back({.codec = info.codec.name(), .error = error_of(info.codec)});
  return history;
}

double sum_rounded_up(double a, double b) {
  const double sum = a + b;
  const double largest = std::max(a, b), rest = std::min(a, b) - (sum - largest);
  return rest > 0 ? std::nextafter(sum, std::numeric_limits<double>::infinity()) : sum;
}

std::optional<Bound> error_of(const History& history) {
  if (history.empty() || !history.front().error) return std::nullopt;
  const Bound::Kind kind = history.front().error->kind();
  double total = 0;
  for (const HistoryStep& step : history) {
    if (!step.error || step.error->kind() != kind) return std::nullopt;
    const double next = step.error->value();
    // A share of what the steps before may have made larger: a + b (1 + a).
    if (total == 0) {
      total = next;
      continue;
    }
    const double share = kind == Bound::Kind::absolute ? next : next * (1 + total) * (1 + 0x1p-50);
    total = sum_rounded_up(total, share);
  }
  return Bound(kind, total);
}

}  // namespace tensorpress::stream
