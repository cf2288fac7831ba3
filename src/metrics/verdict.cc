#include "metrics/verdict.h"

#include <algorithm>

#include "base/text.h"
#include "codecs/bounded/parameters.h"
#include "stream/container/history.h"

namespace tensorpress::metrics {
namespace {

// Comparisons are written so that NaN breaks the promise.
std::string broken_bound(const ErrorStatistics& measured, const Codec& codec,
                         const stream::History& history) {
  const auto promised = bounded::parse(codec.parameters());
  if (!promised.ok()) return promised.error().message;
  if (!promised->bound) return {};
  const Bound own =
      promised->pointwise() ? *promised->bound : Bound::absolute(promised->limit.value_or(0));
  const Bound total = stream::error_of(history).value_or(own);
  if (promised->pointwise()) {
    const double share = total.value();
    if (measured.max_pointwise_error <= share) return {};
    return text("an error of ", measured.max_pointwise_error, " of the value exceeds the bound ",
                share);
  }
  const double value = promised->bound->value();
  double limit = total.value();
  if (promised->bound->kind() == Bound::Kind::absolute && history.size() == 1) {
    limit = std::min(limit, value);
  }
  if (!(measured.max_abs_error <= limit)) {
    return text("the error ", measured.max_abs_error, " exceeds the bound ", limit);
  }
  if (promised->bound->kind() == Bound::Kind::psnr && !(measured.psnr_db() >= value)) {
    return text("the PSNR of ", measured.psnr_db(), " dB is below ", value);
  }
  return {};
}

std::string changed_specials(const ErrorStatistics& measured) {
  if (measured.mismatched_nonfinite == 0) return {};
  return text(measured.mismatched_nonfinite, " NaN, infinite or fill values came back changed");
}

std::string beyond(const ErrorStatistics& measured, double limit) {
  if (measured.max_abs_error <= limit) return {};
  return text("the error ", measured.max_abs_error, " exceeds the bound ", limit);
}

std::string broken_bound(const ErrorStatistics& measured, const Bound& bound) {
  const double value = bound.value();
  switch (bound.kind()) {
    case Bound::Kind::absolute:
      return beyond(measured, value);
    case Bound::Kind::relative:
      return beyond(measured, value * measured.value_range());
    case Bound::Kind::pointwise_relative:
      if (measured.max_pointwise_error <= value) return {};
      return text("an error of ", measured.max_pointwise_error, " of the value exceeds the bound ",
                  value);
    case Bound::Kind::psnr:
      if (measured.psnr_db() >= value) return {};
      return text("the PSNR of ", measured.psnr_db(), " dB is below ", value);
    case Bound::Kind::ratio:
      break;
  }
  return {};  // a ratio says nothing about errors
}

}  // namespace

std::string what_is_wrong(const ErrorStatistics& measured, const std::optional<Bound>& bound) {
  if (bound) {
    if (auto broken = broken_bound(measured, *bound); !broken.empty()) return broken;
  }
  return changed_specials(measured);
}

std::string what_is_wrong(const ErrorStatistics& measured, const StreamInfo& stream) {
  const auto stored_l2_error = stream.statistic("l2_error");
  if (!stored_l2_error) return "the stream stores no l2_error to check against";
  // The original may be what was compressed, or what that was made from.
  const auto before = stream::history_before(stream.attributes);
  if (!before.ok()) return before.error().message;
  const bool compressed_before = !before->empty();
  const auto history = stream::history_with(stream);
  if (!history.ok()) return history.error().message;
  if (auto broken = broken_bound(measured, stream.codec, *history); !broken.empty()) return broken;
  // What was lost before has no L2 error of its own.
  if (!compressed_before && !(measured.l2_error() <= *stored_l2_error)) {
    return text("the L2 error ", measured.l2_error(), " exceeds the stored ", *stored_l2_error);
  }
  return changed_specials(measured);
}

}  // namespace tensorpress::metrics
