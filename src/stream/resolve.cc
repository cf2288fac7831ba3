#include "stream/resolve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.h"
#include "base/portable_math.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/bounded/parameters.h"
#include "codecs/registry.h"
#include "stream/chunk_work.h"
#include "stream/history.h"
#include "stream/likely_fill.h"
#include "stream/plan.h"

namespace tensorpress::stream {
namespace {

// Squares below it have few bits, or none.
constexpr double kSmallestSquare = 0x1p-900;

// Where the product of the two is too large or too small, though its root is not, from their roots.
double geometric_mean(double a, double b) {
  const double product = a * b;
  const bool exact = product >= kSmallestSquare && std::isfinite(product);
  return exact ? std::sqrt(product) : std::sqrt(a) * std::sqrt(b);
}

// Half a unit in the last place, relative: what rounding to the type may add.
double rounding_share(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 0x1p-53;
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

// The error of log2|x| within which x stays within its share of |x|.
double pointwise_limit(double share, DType dtype) {
  const double left = share - 1.01 * rounding_share(dtype) * (1 + share);
  return left > 0 ? portable_log2(1 + left) : 0;
}

// Never above the true product, which fma knows; among subnormals it is told from larger numbers.
double share_of(double width, double share) {
  constexpr double kUp = 0x1p200, kTiny = 0x1p-900;
  if (width == 0 || share == 0) return 0;
  if (width * share < kTiny && width <= 1) {
    const double larger = share_of(width * kUp, share);
    const double product = larger / kUp;
    return product * kUp > larger ? std::nextafter(product, 0.0) : product;
  }
  const double product = width * share;
  return std::fma(width, share, -product) < 0 ? std::nextafter(product, 0.0) : product;
}

// Never above the true distance: the difference's rounding error is itself a double (Knuth's
// two-sum). A range that no double holds is the largest double.
double width_of(const ValueRange& range) {
  const double width = range.high - range.low;
  if (!std::isfinite(width)) return std::numeric_limits<double>::max();
  const double low_part = range.high - width;
  const double error = (range.high - (width + low_part)) + (low_part - range.low);
  return error < 0 ? std::nextafter(width, 0.0) : width;
}

Result<void> check_earlier_error(const BoundOptions& options) {
  if (!options.earlier_error) return {};
  RETURN_IF_ERROR(options.earlier_error->check());
  const Bound::Kind earlier = options.earlier_error->kind(), asked = options.bound->kind();
  if (earlier != Bound::Kind::absolute && earlier != Bound::Kind::pointwise_relative) {
    return bad_argument("an earlier error is absolute or point-wise relative, not '",
                        options.earlier_error->to_string(), "'");
  }
  const bool of_range = asked == Bound::Kind::absolute || asked == Bound::Kind::relative;
  if (asked == Bound::Kind::ratio) return {};  // promises no error
  if (earlier == Bound::Kind::absolute ? of_range : asked == Bound::Kind::pointwise_relative) {
    return {};
  }
  return bad_argument("the values carry an earlier error of '", options.earlier_error->to_string(),
                      "', and with it a bound of '", options.bound->to_string(),
                      "' against the first values cannot be kept; give ",
                      earlier == Bound::Kind::absolute ? "an absolute or relative bound"
                                                       : "a point-wise relative bound",
                      ", or let the bound count from the values as they are now");
}

Result<void> check_request(const Codec& codec, const TensorSource& source,
                           const BoundOptions& options) {
  if (!options.bound) {
    return bad_argument("codec ", codec.name(),
                        " keeps an error bound and none is given: --abs E, --rel E, --pw-rel E, "
                        "--psnr P or --ratio R (in C++ CompressOptions::bound)");
  }
  RETURN_IF_ERROR(options.bound->check());
  RETURN_IF_ERROR(bounded::check_dtype(codec.name(), source.dtype()));
  if (options.value_range) {
    const auto& [low, high] = *options.value_range;
    if (!std::isfinite(low) || !std::isfinite(high) || !(low <= high)) {
      return bad_argument("the value range ", low, " to ", high,
                          " needs two finite numbers, the lower one first");
    }
  }
  if (options.bound->kind() == Bound::Kind::relative && options.bound->value() >= 1) {
    return bad_argument("a relative bound of ", options.bound->value(),
                        " allows errors as large as the whole value range, so nothing would be "
                        "left of the data; give a bound below 1, such as 0.001");
  }
  return check_earlier_error(options);
}

Result<std::unique_ptr<Learner>> learner_of(const Codec& codec) {
  const RegisteredCodec* const registered = find_codec(codec.name());
  if (registered == nullptr || registered->learn == nullptr) return std::unique_ptr<Learner>();
  return registered->learn(codec.parameters());
}

// This process alone.
class OwnLook : public DataLook {
 public:
  OwnLook(TensorSource& source, const WriteOptions& options, Isa isa)
      : source_(source),
        runner_(runner_or_threads(options.runner, options.threads)),
        threads_(options.threads),
        isa_(isa) {}

  Result<Survey> survey(const ChunkGrid& grid, std::span<const double> fill_values) override {
    return survey_values(source_, grid, fill_values, runner_, threads_, isa_);
  }
  Result<Trial> trial(const ChunkCodec& codec, const ChunkGrid& grid,
                      std::span<const std::uint64_t> chunks) override {
    return run_trial(codec, source_, grid, chunks, runner_, threads_, isa_);
  }
  Result<void> teach(Learner& learner, const ChunkGrid& grid) override {
    RETURN_IF_ERROR(trial(learner.codec(), grid, all_chunks(grid)));
    return {};
  }

 private:
  TensorSource& source_;
  Runner runner_;
  std::size_t threads_;
  Isa isa_;
};

class Resolution {
 public:
  Resolution(const Codec& codec, const TensorSource& source, const WriteOptions& options,
             DataLook& look)
      : codec_(codec), source_(source), options_(options), look_(look) {}

  Result<ResolvedCodec> resolve() {
    TRY(const double limit, find_limit());
    TRY(const Codec unlearned, with_limit(limit));
    TRY(Codec codec, learn(unlearned));
    return ResolvedCodec{std::move(codec), std::move(hints_)};
  }

 private:
  // What the codec wants to know of the data beyond its bound.
  Result<Codec> learn(const Codec& codec) {
    TRY(const auto learner, learner_of(codec));
    if (!learner) return codec;
    TRY(const auto plan, plan_for_looking());
    RETURN_IF_ERROR(look_.teach(*learner, plan.grid));
    TRY(const auto learned, learner->parameters());
    return Codec::make(codec.name(), learned);
  }

  Result<double> find_limit() {
    const Bound& bound = *options_.bound.bound;
    switch (bound.kind()) {
      case Bound::Kind::absolute:
        return left_of(bound.value());
      case Bound::Kind::pointwise_relative: {
        TRY(const double share, pointwise_share());
        return pointwise_limit(share, source_.dtype());
      }
      case Bound::Kind::relative: {
        TRY(const double width, width_of_range());
        // The first values' own range may have been narrower by twice their error.
        const double narrowest = std::max(width - 2 * earlier_error(), 0.0);
        return left_of(
            std::min(share_of(narrowest, bound.value()), std::numeric_limits<double>::max()));
      }
      case Bound::Kind::psnr:
        return find_limit_for_psnr(bound.value());
      case Bound::Kind::ratio:
        return find_limit_for_ratio(bound.value());
    }
    return internal_error("an unknown kind of bound");
  }

  double earlier_error() const {
    return options_.bound.earlier_error ? options_.bound.earlier_error->value() : 0;
  }

  Error too_late(double total) const {
    return bad_argument("the values have lost up to ", earlier_error(), " already, so a bound of ",
                        total,
                        " against the first values cannot be kept; give a larger one, or let the "
                        "bound count from the values as they are now");
  }

  // What an absolute error against the first values leaves for this step, rounded down.
  Result<double> left_of(double total) const {
    const double earlier = earlier_error();
    if (earlier == 0) return total;
    if (total < earlier) return too_late(total);
    double left = total - earlier;
    while (left > 0 && sum_rounded_up(left, earlier) > total) left = std::nextafter(left, 0.0);
    return left;
  }

  // |x'' - x| <= b |x'| + a |x| <= (a + b (1 + a)) |x|
  Result<double> pointwise_share() const {
    const double total = options_.bound.bound->value(), earlier = earlier_error();
    if (earlier == 0) return total;
    if (total < earlier) return too_late(total);
    return (total - earlier) / (1 + earlier) * (1 - 0x1p-40);
  }

  Result<double> width_of_range() {
    if (options_.bound.value_range) {
      return width_of(*options_.bound.value_range);
    }
    TRY(const auto plan, plan_for_looking());
    TRY(Survey survey, look_.survey(plan.grid, options_.bound.fill_values));
    // A ratio is met whatever the range is.
    if (!options_.bound.whole_range && options_.bound.bound->kind() != Bound::Kind::ratio) {
      TRY(const auto fill, find_likely_fill(survey, look_, plan.grid, options_.bound.fill_values));
      if (fill) return likely_fill_error(*fill);
    }
    hints_ = std::move(survey.chunks);
    return width_of(survey.range);
  }

  Result<StreamPlan> plan_for_looking() {
    if (!source_.random_access()) {
      return bad_argument("a bound of '", options_.bound.bound->to_string(),
                          "' needs a look at all values first, which a pipe does not allow; give "
                          "--range LO:HI, an absolute bound or a file");
    }
    TRY(const Codec codec, with_limit(0));
    return plan_stream(codec, source_.dtype(), source_.shape(), options_.chunk_shape, {});
  }

  // What the stream says it keeps: against the first values, but for point-wise bounds, which the
  // codec checks against the values that it is given.
  Result<Bound> kept_bound() const {
    const Bound& asked = *options_.bound.bound;
    if (asked.kind() != Bound::Kind::pointwise_relative) return asked;
    TRY(const double share, pointwise_share());
    return Bound::pointwise_relative(share);
  }

  Result<Codec> with_limit(double limit) const {
    std::vector<Parameter> parameters(codec_.parameters().begin(), codec_.parameters().end());
    for (Parameter& parameter : parameters) {
      if (parameter.name == bounded::kBoundParameter.name) {
        TRY(const Bound bound, kept_bound());
        parameter.value = bound.to_string();
      } else if (parameter.name == bounded::kLimitParameter.name) {
        parameter.value = text(limit);
      } else if (parameter.name == bounded::kFillParameter.name) {
        parameter.value = bounded::fills_to_text(options_.bound.fill_values);
      }
    }
    return Codec::make(codec_.name(), parameters);
  }

  Result<Trial> try_limit(double limit, const ChunkGrid& grid,
                          std::span<const std::uint64_t> chunks) {
    TRY(const Codec unlearned, with_limit(limit));
    TRY(const Codec codec, learn(unlearned));
    TRY(const auto chunk_codec, create_chunk_codec(codec));
    return look_.trial(*chunk_codec, grid, chunks);
  }

  // A mean square error of at most e^2 is certain at a limit of e, and e^2 / 3 likely; more is
  // gained where values are predicted better than that. The largest limit that keeps the PSNR on
  // samples is checked on everything before it is taken.
  Result<double> find_limit_for_psnr(double decibels) {
    TRY(const double width, width_of_range());
    if (width == 0) return 0.0;
    TRY(const auto plan, plan_for_looking());
    const double root_mean_square = width * portable_exp2(-decibels * 0.16609640474436812);
    const double wanted = root_mean_square * root_mean_square;
    // Squares that are too large or too small to be told apart: no search.
    if (!std::isfinite(16 * wanted) || wanted < kSmallestSquare)
      return root_mean_square * (1 - 1e-6);
    const auto samples = sample_chunks(plan.grid, source_.dtype());
    double low = root_mean_square, high = root_mean_square * 16;
    for (int step = 0; step < 8; ++step) {
      const double middle = geometric_mean(low, high);
      TRY(const Trial trial, try_limit(middle, plan.grid, samples));
      (trial.mean_squared_error() <= 0.99 * wanted ? low : high) = middle;
    }
    const auto everything = all_chunks(plan.grid);
    while (low > root_mean_square) {
      TRY(const Trial trial, try_limit(low, plan.grid, everything));
      if (trial.mean_squared_error() <= wanted) return low;
      low = std::max(low * 0.95, root_mean_square);
    }
    return root_mean_square * (1 - 1e-6);
  }

  Result<double> find_limit_for_ratio(double ratio) {
    TRY(const double width, width_of_range());
    if (width == 0) return 0.0;
    TRY(const auto plan, plan_for_looking());
    const auto samples = sample_chunks(plan.grid, source_.dtype());
    const double smallest =
        source_.dtype() == DType::f64 ? std::numeric_limits<double>::denorm_min() : 0x1p-150;
    double low = std::max(width * 1e-12, smallest), high = width;
    TRY(const Trial loosest, try_limit(high, plan.grid, samples));
    if (loosest.ratio() < ratio) {
      return bad_argument("a ratio of ", ratio,
                          " is out of reach: even a bound of the whole range, ", width, ", gives ",
                          rounded(loosest.ratio()), " on samples");
    }
    // A few outliers, and the range says little of the values: on to smaller bounds while those do.
    while (low > smallest) {
      TRY(const Trial trial, try_limit(low, plan.grid, samples));
      if (trial.ratio() < ratio) break;
      high = low;
      low = std::max(low * 1e-12, smallest);
    }
    for (int step = 0; step < 24 && high > low * 1.002; ++step) {
      const double middle = geometric_mean(low, high);
      TRY(const Trial trial, try_limit(middle, plan.grid, samples));
      (trial.ratio() < ratio ? low : high) = middle;
    }
    return high;
  }

  const Codec& codec_;
  const TensorSource& source_;
  const WriteOptions& options_;
  DataLook& look_;
  std::vector<ChunkHint> hints_;
};

}  // namespace

bool needs_the_data(const Codec& codec, const BoundOptions& options) {
  const RegisteredCodec* const registered = find_codec(codec.name());
  if (registered == nullptr || !registered->info.error_bounded || !options.bound) return false;
  const auto learner = learner_of(codec);
  if (learner.ok() && *learner) return true;
  switch (options.bound->kind()) {
    case Bound::Kind::absolute:
    case Bound::Kind::pointwise_relative:
      return false;
    case Bound::Kind::relative:
      return !options.value_range;
    case Bound::Kind::psnr:
    case Bound::Kind::ratio:
      return true;
  }
  return true;
}

Result<ResolvedCodec> resolve_codec(const Codec& codec, TensorSource& source,
                                    const WriteOptions& options, Isa isa) {
  OwnLook look(source, options, isa);
  return resolve_codec(codec, source, options, look);
}

Result<ResolvedCodec> resolve_codec(const Codec& codec, const TensorSource& source,
                                    const WriteOptions& options, DataLook& look) {
  const RegisteredCodec* const registered = find_codec(codec.name());
  if (registered == nullptr) return internal_error("codec ", codec.name(), " is not registered");
  if (!registered->info.error_bounded) {
    if (options.bound.bound) {
      return bad_argument("codec ", codec.name(),
                          " has a fixed rate and takes no bound; its error is measured and stored. "
                          "Codecs dense, ceresz and ceresz2 keep bounds");
    }
    return ResolvedCodec{codec};
  }
  RETURN_IF_ERROR(check_request(codec, source, options.bound));
  return Resolution(codec, source, options, look).resolve();
}

}  // namespace tensorpress::stream
