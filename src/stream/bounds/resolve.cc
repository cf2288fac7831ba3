#include "stream/bounds/resolve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/registry.h"
#include "stream/bounds/likely_fill.h"
#include "stream/bounds/limit_arithmetic.h"
#include "stream/plan.h"

namespace tensorpress::stream {
namespace {

Result<void> check_earlier_error(const CompressOptions& options) {
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
                           const CompressOptions& options) {
  if (!options.bound) {
    return bad_argument("codec ", codec.name(),
                        " keeps an error bound and none is given: `absolute`, `relative`, "
                        "`pointwise_relative`, `psnr` or `ratio`");
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

// "dense, ceresz2 and ceresz"
std::string bounded_codecs() {
  std::vector<std::string_view> names;
  for (const auto* codec : registered_codecs()) {
    if (codec->info.error_bounded) names.push_back(codec->info.name);
  }
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    list += text(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  }
  return list;
}

// This process alone.
class OwnLook : public DataLook {
 public:
  OwnLook(TensorSource& source, const Execution& execution)
      : source_(source), execution_(execution) {}

  Result<std::vector<Sighting>> look_at(const ChunkGrid& grid,
                                        std::span<const std::uint64_t> chunks,
                                        std::span<const double> fill_values) override {
    return look_at_chunks(source_, grid, chunks, fill_values, execution_);
  }
  Result<Trial> trial(const ChunkCodec& codec, const ChunkGrid& grid,
                      std::span<const std::uint64_t> chunks) override {
    return run_trial(codec, source_, grid, chunks, execution_);
  }
  Result<void> show_to(Learner& learner, const ChunkGrid& grid) override {
    RETURN_IF_ERROR(trial(learner.codec(), grid, all_chunks(grid)));
    return {};
  }

 private:
  TensorSource& source_;
  const Execution& execution_;
};

}  // namespace

Result<Survey> DataLook::survey(const ChunkGrid& grid, std::span<const double> fill_values) {
  TRY(const auto sightings, look_at(grid, all_chunks(grid), fill_values));
  return conclude(sightings);
}

class Resolution::State {
 public:
  State(const Codec& codec, const TensorSource& source, const CompressOptions& options,
        DataLook& look)
      : codec_(codec), source_(source), options_(options), look_(look), resolved_{codec} {}

  Result<void> begin() {
    TRY(const double limit, first_limit());
    return take_limit(limit);
  }

  const ResolvedCodec& resolved() const { return resolved_; }
  bool is_on_trial() const { return search_ != nullptr; }

  Result<bool> reconsider(const Outcome& outcome) {
    if (!search_ || outcome.bytes_in == 0) return false;
    TRY(const auto next, search_->next(outcome));
    if (!next) return false;
    RETURN_IF_ERROR(take_limit(*next));
    return true;
  }

  Result<void> settle() {
    while (is_on_trial()) {
      TRY(const Outcome outcome, tried_outcome());
      TRY(const bool again, reconsider(outcome));
      if (!again) break;
    }
    return {};
  }

 private:
  Result<void> take_limit(double limit) {
    TRY(const Codec unlearned, with_limit(limit));
    TRY(resolved_.codec, learn(unlearned));
    return {};
  }

  // What the codec wants to know of the data beyond its bound.
  Result<Codec> learn(const Codec& codec) {
    TRY(const auto learner, learner_of(codec));
    if (!learner) return codec;
    TRY(const auto plan, plan_for_looking());
    RETURN_IF_ERROR(look_.show_to(*learner, plan.grid));
    TRY(const auto learned, learner->parameters());
    return Codec::make(codec.name(), learned);
  }

  Result<double> first_limit() {
    const Bound& bound = *options_.bound;
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
      case Bound::Kind::ratio: {
        TRY(search_, make_search(bound));
        return search_->first();
      }
    }
    return internal_error("an unknown kind of bound");
  }

  double earlier_error() const {
    return options_.earlier_error ? options_.earlier_error->value() : 0;
  }

  Error too_late(double total) const {
    return bad_argument("the values have lost up to ", earlier_error(), " already, so a bound of ",
                        total,
                        " against the first values cannot be kept; give a larger one, or let the "
                        "bound count from the values as they are now");
  }

  // What an absolute error against the first values leaves for this step.
  Result<double> left_of(double total) const {
    if (total < earlier_error()) return too_late(total);
    return left_after(earlier_error(), total);
  }

  Result<double> pointwise_share() const {
    const double total = options_.bound->value();
    if (total < earlier_error()) return too_late(total);
    return share_left_after(earlier_error(), total);
  }

  Result<double> width_of_range() {
    if (options_.value_range) {
      return width_of(*options_.value_range);
    }
    TRY(const auto plan, plan_for_looking());
    TRY(Survey survey, look_.survey(plan.grid, options_.fill_values));
    // A ratio is met whatever the range is.
    if (!options_.whole_range && options_.bound->kind() != Bound::Kind::ratio) {
      TRY(const auto fill, find_likely_fill(survey, look_, plan.grid, options_.fill_values));
      if (fill) return likely_fill_error(*fill);
    }
    resolved_.hints = std::move(survey.chunks);
    return width_of(survey.range);
  }

  Result<StreamPlan> plan_for_looking() {
    if (!source_.random_access()) {
      return bad_argument("a bound of '", options_.bound->to_string(),
                          "' needs a look at all values first, which a pipe does not allow; give "
                          "the value range, an absolute bound or a file");
    }
    TRY(const Codec codec, with_limit(0));
    return plan_stream(codec, source_.dtype(), source_.shape(), options_.chunk_shape, {});
  }

  // What the stream says it keeps: against the first values, but for point-wise bounds, which the
  // codec checks against the values that it is given.
  Result<Bound> kept_bound() const {
    const Bound& asked = *options_.bound;
    if (asked.kind() != Bound::Kind::pointwise_relative) return asked;
    TRY(const double share, pointwise_share());
    return Bound::pointwise_relative(share);
  }

  Result<Codec> with_limit(double limit) const {
    TRY(const Bound bound, kept_bound());
    return with_kept_bound(codec_, {bound, limit, options_.fill_values});
  }

  Result<std::unique_ptr<LimitSearch>> make_search(const Bound& bound) {
    TRY(const double width, width_of_range());
    TRY(const auto plan, plan_for_looking());
    grid_ = plan.grid;
    TRY(const Codec some_limit, with_limit(width * 0x1p-10));
    TRY(const std::uint64_t opening, opening_bytes(some_limit));
    SearchSpace space{.grid = *grid_,
                      .dtype = source_.dtype(),
                      .width = width,
                      .opening_bytes = opening,
                      .try_limit = [this](double limit, std::span<const std::uint64_t> chunks) {
                        return try_limit(limit, chunks);
                      }};
    return bound.kind() == Bound::Kind::psnr ? search_for_psnr(bound.value(), std::move(space))
                                             : search_for_ratio(bound.value(), std::move(space));
  }

  Result<Trial> try_limit(double limit, std::span<const std::uint64_t> chunks) {
    TRY(const Codec unlearned, with_limit(limit));
    TRY(const Codec codec, learn(unlearned));
    return look_.trial(*chunk_codec_of(codec), *grid_, chunks);
  }

  // What the resolved codec comes to, as if the stream had been written.
  Result<Outcome> tried_outcome() {
    TRY(const Trial trial,
        look_.trial(*chunk_codec_of(resolved_.codec), *grid_, all_chunks(*grid_)));
    TRY(const std::uint64_t opening, opening_bytes(resolved_.codec));
    return Outcome{.mean_squared_error = trial.mean_squared_error(),
                   .bytes_in = trial.bytes_in,
                   .bytes_out = trial.bytes_out + opening};
  }

  // Everything of a stream before its chunks.
  Result<std::uint64_t> opening_bytes(const Codec& codec) const {
    TRY(const auto plan, plan_stream(codec, source_.dtype(), source_.shape(), options_.chunk_shape,
                                     options_.attributes));
    return std::uint64_t{plan.opening.size()};
  }

  const Codec& codec_;
  const TensorSource& source_;
  const CompressOptions& options_;
  DataLook& look_;
  ResolvedCodec resolved_;
  std::optional<ChunkGrid> grid_ = {};  // that of the stream, for a search
  std::unique_ptr<LimitSearch> search_ = {};
};

Resolution::Resolution(std::unique_ptr<State> state) : state_(std::move(state)) {}
Resolution::Resolution(Resolution&&) noexcept = default;
Resolution::~Resolution() = default;

Result<Resolution> Resolution::begin(const Codec& codec, const TensorSource& source,
                                     const CompressOptions& options, DataLook& look) {
  const RegisteredCodec* const registered = find_codec(codec.name());
  if (registered == nullptr) return internal_error("codec ", codec.name(), " is not registered");
  auto state = std::make_unique<State>(codec, source, options, look);
  if (registered->info.error_bounded) {
    RETURN_IF_ERROR(check_request(codec, source, options));
    RETURN_IF_ERROR(state->begin());
  } else if (options.bound) {
    return bad_argument("codec ", codec.name(),
                        " has a fixed rate and takes no bound; its error is measured and stored. "
                        "Codecs ",
                        bounded_codecs(), " keep bounds");
  }
  return Resolution(std::move(state));
}

const ResolvedCodec& Resolution::resolved() const {
  return state_->resolved();
}

bool Resolution::is_on_trial() const {
  return state_->is_on_trial();
}

Result<bool> Resolution::reconsider(const Outcome& outcome) {
  return state_->reconsider(outcome);
}

Result<void> Resolution::settle() {
  return state_->settle();
}

std::unique_ptr<DataLook> look_of_this_process(TensorSource& source, const Execution& execution) {
  return std::make_unique<OwnLook>(source, execution);
}

bool needs_the_data(const Codec& codec, const CompressOptions& options) {
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
                                    const CompressOptions& options) {
  TRY(const Execution execution, Execution::of(options));
  OwnLook look(source, execution);
  return resolve_codec(codec, source, options, look);
}

Result<ResolvedCodec> resolve_codec(const Codec& codec, const TensorSource& source,
                                    const CompressOptions& options, DataLook& look) {
  TRY(Resolution resolution, Resolution::begin(codec, source, options, look));
  RETURN_IF_ERROR(resolution.settle());
  return resolution.resolved();
}

Result<Bound> resolve_bound(TensorSource& source, const CompressOptions& options) {
  // All codecs with a bound find the same limit; this one learns nothing else on the way.
  TRY(const Codec codec, Codec::make("dense"));
  TRY(const auto resolved, resolve_codec(codec, source, options));
  const auto& kept = resolved.codec.kept_bound();
  ENSURE(kept.has_value());
  return kept->asked.kind() == Bound::Kind::pointwise_relative ? kept->asked
                                                               : Bound::absolute(kept->limit);
}

}  // namespace tensorpress::stream
