#include <algorithm>

#include "base/errors.h"
#include "base/portable_math.h"
#include "files/conventions/hdf5_filter_settings.h"
#include "files/rewriting/rewrite_plan.h"
#include "stream/bounds/resolve.h"

namespace tensorpress::files {
namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;

/// The share of the range that, as the largest error, keeps the root mean square below what a PSNR
/// allows. The filter cannot keep one: it would count what HDF5 puts behind a variable's edges.
double error_for_psnr(double decibels) {
  constexpr double kLog2Of10 = 3.3219280948873623, kRounding = 1 - 0x1p-45, kMost = 0.5;
  return std::min(portable_exp2(-decibels * kLog2Of10 / 20) * kRounding, kMost);
}

/// The bound for each chunk: a relative one becomes absolute, the one that a .tpz would keep. Where
/// the values carry an earlier error, what that leaves.
Result<Bound> bound_for(const CompressOptions& options, TensorSource& source) {
  const Bound& bound = *options.bound;
  if (bound.kind() == Bound::Kind::psnr) {
    CompressOptions everywhere = options;
    everywhere.bound = Bound::relative(error_for_psnr(bound.value()));
    return bound_for(everywhere, source);
  }
  if (bound.kind() == Bound::Kind::ratio) {
    return unsupported(
        "`ratio` cannot be kept by a filter, which sees one chunk at a time; give `absolute`, "
        "`relative` or `pointwise_relative`");
  }
  if (bound.kind() != Bound::Kind::relative && !options.earlier_error) return bound;
  const auto boxes = boxes_for({source.shape().extents().begin(), source.shape().extents().end()},
                               size_of(source.dtype()));
  CompressOptions look = options;
  TRY(look.chunk_shape, Shape::make(boxes));
  return stream::resolve_bound(source, look);
}

bool is_exact(const std::optional<Bound>& bound) {
  return bound && bound->value() == 0 && bound->kind() != Bound::Kind::psnr &&
         bound->kind() != Bound::Kind::ratio;
}

PlannedVariable copied(Treatment treatment) {
  return {.treatment = treatment};
}

Storage storage_of(const NetcdfVariable& variable) {
  return {.contiguous = variable.chunk_extents.empty(), .filters = variable.filters};
}

Result<std::vector<std::uint64_t>> chunks_for(NetcdfFile& file, const NetcdfVariable& variable) {
  if (!variable.chunk_extents.empty()) return variable.chunk_extents;
  TRY(const auto notes, file.notes(variable));
  auto extents = variable.extents;
  // What grows by one does so without compressing its neighbours again.
  for (std::size_t i = 0; i < extents.size() && extents.size() > 1; ++i) {
    const bool grows =
        std::ranges::find(notes.unlimited, variable.dimensions[i]) != notes.unlimited.end();
    if (grows) extents[i] = 1;
  }
  return boxes_for(extents, size_of(DType::f32));
}

/// Our codecs do not shrink what must not change; shuffle and deflate do, a little. Other filters
/// than these stay: they were chosen.
Result<PlannedVariable> plan_exact(NetcdfFile& file, const NetcdfVariable& variable) {
  std::uint32_t level = 4;
  bool shuffled = false, deflated = false;
  for (const StoredFilter& filter : variable.filters) {
    if (filter.id > kFletcherFilter) return copied(Treatment::as_it_was);
    shuffled = shuffled || filter.id == kShuffleFilter;
    deflated = deflated || filter.id == kDeflateFilter;
    if (filter.id == kDeflateFilter && !filter.values.empty()) level = filter.values.front();
  }
  if (shuffled && deflated) return copied(Treatment::as_it_was);
  PlannedVariable planned{.treatment = Treatment::exact, .storage = shuffled_and_deflated(level)};
  for (const StoredFilter& filter : variable.filters) {
    if (filter.id == kFletcherFilter) planned.storage.filters.push_back({.id = filter.id});
  }
  TRY(planned.chunk_extents, chunks_for(file, variable));
  return planned;
}

/// What a variable says about itself when our filter has done its work on it.
Provenance provenance_of(const NetcdfVariable& variable, const Hdf5FilterSettings& settings,
                         const CompressOptions& asked, stream::History history) {
  Provenance provenance{.codec = settings.codec.name(), .bound = asked.bound};
  const bool lost_before = !history.empty() && !asked.earlier_error;
  if (!is_exact(settings.bound)) history.push_back(step_of(settings));
  // Counted from values that had lost something, it is not the bound against the first ones.
  if (lost_before) provenance.bound = stream::error_of(history);
  provenance.history = std::move(history);
  provenance.stored_before = variable.stored_before     ? *variable.stored_before
                             : has_own_filter(variable) ? shuffled_and_deflated()
                                                        : storage_of(variable);
  return provenance;
}

Result<PlannedVariable> plan_variable(NetcdfFile& file, const NetcdfVariable& variable,
                                      const RewriteOptions& options) {
  CompressOptions bound = options.compress;
  for (const double fill : variable.fill_values) {
    if (std::ranges::find(bound.fill_values, fill) == bound.fill_values.end()) {
      bound.fill_values.push_back(fill);
    }
  }
  if (bound.fill_values.size() > kMaxHdf5FillValues) {
    return too_large("variable '", variable.path, "' and `fill_values` have ",
                     bound.fill_values.size(), " fill values; the HDF5 filter takes at most ",
                     kMaxHdf5FillValues);
  }
  if (variable.extents.empty()) return copied(Treatment::as_it_was);
  TRY(stream::History history, history_of(file, variable, bound.threads));
  // A relative bound is kept already when it is the same share of the same range.
  if (!options.earlier_loss.from_here && !history.empty() && bound.bound && !bound.value_range &&
      bound.bound == variable.kept_bound) {
    return copied(Treatment::kept_already);
  }
  const std::string name = text("variable '", variable.path, "'");
  RETURN_IF_ERROR(count_from_first_values(name, history, options.earlier_loss, bound));
  if (is_exact(bound.bound) && !bound.earlier_error) return plan_exact(file, variable);

  Hdf5FilterSettings settings{.codec = options.codec, .fill_values = bound.fill_values};
  TRY(const auto source, file.source(variable));
  if (bound.bound) {
    auto kept = bound_for(bound, *source);
    if (!kept.ok() && bound.earlier_error) {
      Error error = with_way_out(options.earlier_loss, kept.error());
      return Error{error.code, text(name, ": ", error.message)};
    }
    TRY(settings.bound, std::move(kept));
    if (bound.earlier_error && settings.bound->value() == 0) return copied(Treatment::kept_already);
  }
  PlannedVariable planned;
  planned.bound = settings.bound ? settings.bound->to_string() : options.codec.name();
  TRY(auto words, settings.to_words());
  planned.storage.filters = {{.id = kHdf5FilterId, .values = std::move(words)}};
  TRY(planned.chunk_extents, chunks_for(file, variable));
  planned.attributes = to_attributes(provenance_of(variable, settings, bound, std::move(history)));
  return planned;
}

/// Into the plan, as a variable to write or one to copy.
void add(RewritePlan& plan, const NetcdfVariable& variable, PlannedVariable planned) {
  const Treatment treatment = planned.treatment;
  if (treatment == Treatment::compressed || treatment == Treatment::exact) {
    plan.variables[variable.path] = std::move(planned);
  } else {
    plan.copied[variable.path] = treatment;
  }
}

Result<RewritePlan> plan_by_rules(NetcdfFile& file, const RewriteOptions& options) {
  RewritePlan plan{.history_line = options.history_line};
  TRY(const auto chosen, options.per_variable.choose(file, options.variables, false));
  for (const auto& [variable, choice] : chosen) {
    RewriteOptions own = options;
    own.compress = choice.options_beside(options.compress);
    if (choice.codec) own.codec = *choice.codec;
    TRY(PlannedVariable planned, plan_variable(file, *variable, own));
    add(plan, *variable, std::move(planned));
  }
  return plan;
}

}  // namespace

Storage shuffled_and_deflated(std::uint32_t level) {
  return {.filters = {{.id = kShuffleFilter}, {.id = kDeflateFilter, .values = {level}}}};
}

std::vector<std::uint64_t> boxes_for(std::vector<std::uint64_t> extents,
                                     std::uint64_t element_bytes) {
  for (auto& extent : extents) extent = std::max<std::uint64_t>(extent, 1);
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    // It is enough to know that it is too much, and the product of all could wrap.
    constexpr std::uint64_t kTooMuch = kChunkBytes + 1;
    std::uint64_t bytes = std::min(element_bytes, kTooMuch);
    for (std::size_t i = axis + 1; i < extents.size(); ++i) {
      bytes = std::min(bytes * std::min(extents[i], kTooMuch), kTooMuch);
    }
    const std::uint64_t fitting = std::max<std::uint64_t>(kChunkBytes / bytes, 1);
    extents[axis] = std::min(extents[axis], fitting);
  }
  return extents;
}

Result<void> for_each_box(
    const std::vector<std::uint64_t>& extents, const std::vector<std::uint64_t>& box,
    const std::function<Result<void>(const std::vector<std::uint64_t>&,
                                     const std::vector<std::uint64_t>&)>& work) {
  std::vector<std::uint64_t> origin(extents.size(), 0), size(extents.size());
  if (std::ranges::find(extents, std::uint64_t{0}) != extents.end()) return {};
  while (true) {
    for (std::size_t i = 0; i < extents.size(); ++i) {
      size[i] = std::min(box[i], extents[i] - origin[i]);
    }
    RETURN_IF_ERROR(work(origin, size));
    std::size_t axis = extents.size();
    while (axis > 0) {
      origin[axis - 1] += box[axis - 1];
      if (origin[axis - 1] < extents[axis - 1]) break;
      origin[--axis] = 0;
    }
    if (axis == 0) return {};
  }
}

Result<RewritePlan> plan_rewrite(NetcdfFile& file, const RewriteOptions& options) {
  if (!options.per_variable.empty()) return plan_by_rules(file, options);
  RewritePlan plan{.history_line = options.history_line};
  std::vector<const NetcdfVariable*> chosen;
  for (const std::string& name : options.variables) {
    TRY(const auto* const variable, file.find(name));
    if (variable->packed) {
      return unsupported("variable '", name,
                         "' holds packed whole numbers, which our filter does not take; "
                         "compress it to a .tpz instead");
    }
    if (!variable->refusal.empty()) {
      return unsupported("variable '", name, "' ", variable->refusal);
    }
    chosen.push_back(variable);
  }
  if (options.variables.empty()) {
    for (const NetcdfVariable& variable : file.variables()) {
      const bool data = variable.refusal.empty() && !variable.coordinate && !variable.packed;
      if (data && !variable.extents.empty()) chosen.push_back(&variable);
    }
  }
  for (const NetcdfVariable* const variable : chosen) {
    TRY(PlannedVariable planned, plan_variable(file, *variable, options));
    add(plan, *variable, std::move(planned));
  }
  return plan;
}

Result<RewritePlan> plan_restoring(NetcdfFile& file, const RestoreOptions& options) {
  RewritePlan plan{.history_line = options.history_line};
  for (const NetcdfVariable& variable : file.variables()) {
    if (!has_own_filter(variable)) continue;
    PlannedVariable planned{.treatment = Treatment::restored,
                            .storage = variable.stored_before.value_or(shuffled_and_deflated()),
                            .chunk_extents = variable.chunk_extents,
                            .only_if_smaller = false};
    TRY(const stream::History history, history_of(file, variable, options.threads));
    planned.attributes = history_attributes(history);
    plan.variables[variable.path] = std::move(planned);
  }
  if (plan.variables.empty()) {
    return bad_argument("no variable is compressed with our filter, so there is nothing to undo");
  }
  return plan;
}

}  // namespace tensorpress::files
