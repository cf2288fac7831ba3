#include <algorithm>
#include <charconv>

#include "base/cpu.h"
#include "base/errors.h"
#include "base/portable_math.h"
#include "files/byte_files.h"
#include "files/hdf5_file.h"
#include "files/hdf5_filter_settings.h"
#include "files/input_watch.h"
#include "files/rewrite_plan.h"
#include "stream/resolve.h"

namespace tensorpress::files {
namespace {

constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;

/// The share of the range that, as the largest error, keeps the root mean square below what a PSNR
/// allows. The filter cannot keep one: it would count what HDF5 puts behind a variable's edges.
double error_for_psnr(double decibels) {
  constexpr double kLog2Of10 = 3.3219280948873623, kRounding = 1 - 0x1p-45, kMost = 0.5;
  return std::min(portable_exp2(-decibels * kLog2Of10 / 20) * kRounding, kMost);
}

/// The bound for each chunk: a relative one becomes absolute, the one that a .tpz would keep.
Result<Bound> bound_for(const stream::BoundOptions& options, stream::TensorSource& source,
                        std::size_t threads) {
  const Bound& bound = *options.bound;
  if (bound.kind() == Bound::Kind::psnr) {
    stream::BoundOptions everywhere = options;
    everywhere.bound = Bound::relative(error_for_psnr(bound.value()));
    return bound_for(everywhere, source, threads);
  }
  if (bound.kind() == Bound::Kind::ratio) {
    return unsupported(
        "--ratio cannot be kept by a filter, which sees one chunk at a time; give "
        "--abs, --rel or --pw-rel");
  }
  if (bound.kind() != Bound::Kind::relative) return bound;
  TRY(const Isa isa, active_isa());
  const auto boxes = boxes_for({source.shape().extents().begin(), source.shape().extents().end()},
                               size_of(source.dtype()));
  stream::WriteOptions look{.bound = options, .threads = threads};
  TRY(look.chunk_shape, Shape::make(boxes));
  // All codecs with a bound find the same limit; this one learns nothing else on the way.
  TRY(const Codec codec, Codec::make("dense"));
  TRY(const auto resolved, stream::resolve_codec(codec, source, look, isa));
  const std::string_view limit = resolved.codec.parameter("limit");
  double error = 0;
  const auto parsed = std::from_chars(limit.data(), limit.data() + limit.size(), error);
  ENSURE(parsed.ec == std::errc());
  return Bound::absolute(error);
}

Result<PlannedVariable> plan_variable(NetcdfFile& file, const NetcdfVariable& variable,
                                      const RewriteOptions& options) {
  stream::BoundOptions bound = options.bound;
  for (const double fill : variable.fill_values) {
    if (std::ranges::find(bound.fill_values, fill) == bound.fill_values.end()) {
      bound.fill_values.push_back(fill);
    }
  }
  if (bound.fill_values.size() > kMaxHdf5FillValues) {
    return too_large("variable '", variable.path, "' and --fill have ", bound.fill_values.size(),
                     " fill values; the HDF5 filter takes at most ", kMaxHdf5FillValues);
  }
  PlannedVariable planned;
  Hdf5FilterSettings settings{.codec = options.codec, .fill_values = bound.fill_values};
  TRY(const auto source, file.source(variable));
  if (bound.bound) {
    TRY(settings.bound, bound_for(bound, *source, options.threads));
  }
  planned.bound = settings.bound ? settings.bound->to_string() : options.codec.name();
  TRY(planned.filter_values, settings.to_words());
  planned.chunk_extents = variable.chunk_extents;
  if (planned.chunk_extents.empty()) {
    TRY(const auto notes, file.notes(variable));
    auto extents = variable.extents;
    // What grows by one does so without compressing its neighbours again.
    for (std::size_t i = 0; i < extents.size() && extents.size() > 1; ++i) {
      const bool grows =
          std::ranges::find(notes.unlimited, variable.dimensions[i]) != notes.unlimited.end();
      if (grows) extents[i] = 1;
    }
    planned.chunk_extents = boxes_for(extents, size_of(DType::f32));
  }
  return planned;
}

Result<RewritePlan> plan_by_rules(NetcdfFile& file, const RewriteOptions& options) {
  RewritePlan plan;
  TRY(const auto chosen, options.per_variable.choose(file, options.variables, false));
  for (const auto& [variable, choice] : chosen) {
    RewriteOptions own = options;
    own.bound = choice.bound_beside(options.bound);
    if (choice.codec) own.codec = *choice.codec;
    TRY(plan[variable->path], plan_variable(file, *variable, own));
  }
  return plan;
}

}  // namespace

std::vector<std::uint64_t> boxes_for(std::vector<std::uint64_t> extents,
                                     std::uint64_t element_bytes) {
  for (auto& extent : extents) extent = std::max<std::uint64_t>(extent, 1);
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    // Nobody needs to know more than that it is too much, and the product of all could wrap.
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
  RewritePlan plan;
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
    TRY(plan[variable->path], plan_variable(file, *variable, options));
  }
  return plan;
}

Result<std::vector<RewrittenVariable>> rewrite_file(const std::string& input,
                                                    const std::string& output,
                                                    const RewriteOptions& options) {
  if (is_classic_file_name(output)) {
    return unsupported("classic NetCDF files (.cdf) have no filters; name the output .nc or .h5");
  }
  TRY(const InputWatch watch, InputWatch::begin(input));
  TRY(const auto file, NetcdfFile::open(input));
  TRY(const RewritePlan plan, plan_rewrite(*file, options));
  std::uint64_t total = 0;
  for (const auto& variable : file->variables()) total += variable.bytes;
  RewriteProgress progress(options, total);

  TRY(const auto target, SharedFile::create(output));
  const std::string& place = target->temporary_path();
  RETURN_IF_ERROR(array_format_of(input) == ArrayFormat::netcdf_classic
                      ? rewrite_classic(input, place, plan, progress)
                      : rewrite_hdf5(input, place, plan, progress));
  std::vector<RewrittenVariable> result;
  for (const auto& variable : file->variables()) {
    RewrittenVariable row{.path = variable.path,
                          .type = variable.type,
                          .extents = variable.extents,
                          .bytes_in = variable.bytes};
    TRY(row.bytes_out, hdf5_stored_bytes(place, variable.path));
    if (const auto planned = plan.find(variable.path); planned != plan.end()) {
      row.bound = planned->second.bound;
    }
    result.push_back(std::move(row));
  }
  RETURN_IF_ERROR(watch.check());
  RETURN_IF_ERROR(target->finish());
  return result;
}

}  // namespace tensorpress::files
