// From the plan for a whole file to the file in its place, and what became of each variable.
#include <algorithm>
#include <filesystem>

#include "base/errors.h"
#include "files/bytes/byte_files.h"
#include "files/bytes/file_descriptor.h"
#include "files/bytes/input_watch.h"
#include "files/hdf5/file.h"
#include "files/hdf5/system_errors.h"
#include "files/rewriting/rewrite_plan.h"

namespace tensorpress::files {
namespace {

struct Names {
  std::string input;
  std::string output;
};

/// What elements take in the file; in classic files nothing but themselves.
Result<std::uint64_t> stored_in(NetcdfFile& file, const NetcdfVariable& variable, bool classic) {
  return classic ? variable.bytes : file.stored_bytes(variable);
}

Result<RewriteReport> report_of(NetcdfFile& file, const RewritePlan& plan, bool classic,
                                const std::string& place) {
  RewriteReport report;
  for (const auto& variable : file.variables()) {
    RewrittenVariable row{.path = variable.path,
                          .type = variable.type,
                          .extents = variable.extents,
                          .bytes_in = variable.bytes};
    TRY(row.stored_before, stored_in(file, variable, classic));
    TRY(row.bytes_out, hdf5_stored_bytes(place, variable.path));
    if (const auto planned = plan.variables.find(variable.path); planned != plan.variables.end()) {
      row.treatment = planned->second.treatment;
      row.bound = planned->second.bound;
      if (row.treatment == Treatment::restored) row.filters = to_text(planned->second.storage);
    } else if (const auto copied = plan.copied.find(variable.path); copied != plan.copied.end()) {
      row.treatment = copied->second;
    }
    report.variables.push_back(std::move(row));
  }
  return report;
}

/// NetCDF cannot take a variable out of a file again, so classic files with such a variable are
/// written once more. True if there is one.
bool leave_out_what_grew(const RewriteReport& report, RewritePlan& plan) {
  bool any = false;
  for (const RewrittenVariable& row : report.variables) {
    const auto planned = plan.variables.find(row.path);
    if (planned == plan.variables.end() || !planned->second.only_if_smaller) continue;
    if (row.bytes_out < row.stored_before) continue;
    plan.copied[row.path] = Treatment::not_smaller;
    plan.variables.erase(planned);
    any = true;
  }
  return any;
}

/// Whether the old file is the better one: nothing was lost in the new one, and it is larger.
Result<bool> is_better_as_it_was(const Names& names, const RewriteReport& report, bool classic,
                                 const std::string& place) {
  const bool lost = std::ranges::any_of(report.variables, [](const RewrittenVariable& row) {
    return row.treatment == Treatment::compressed || row.treatment == Treatment::restored;
  });
  const bool other_format = classic && is_hdf5_file_name(names.output);
  if (lost || other_format) return false;
  std::error_code error;
  const auto before = std::filesystem::file_size(names.input, error);
  const auto after = error ? 0 : std::filesystem::file_size(place, error);
  return !error && after >= before;
}

Result<void> copy_bytes(const Names& names) {
  TRY(const auto from, open_bytes(names.input));
  TRY(const auto to, AtomicFile::create(names.output, names.input));
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < from->size(); at += buffer.size()) {
    const auto part = std::span(buffer).first(
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), from->size() - at)));
    RETURN_IF_ERROR(from->read_at(at, part));
    RETURN_IF_ERROR(to->append(part));
  }
  return to->finish();
}

/// Complaints of the operating system come without the name of the file.
Result<void> about_output(const std::string& output, Result<void> done) {
  if (done.ok() || done.error().code != ErrorCode::io) return done;
  return while_doing(text("cannot write ", output_name(output)), std::move(done).error());
}

Result<RewriteReport> write_planned(NetcdfFile& file, const Names& names, RewritePlan plan,
                                    const RewriteStep& step, const InputWatch& watch) {
  take_system_error();  // an earlier file's
  const bool classic = array_format_of(names.input) == ArrayFormat::netcdf_classic;
  std::uint64_t total = 0;
  for (const auto& variable : file.variables()) total += variable.bytes;
  while (true) {
    RewriteProgress progress(step, total);
    TRY(const auto target, SharedFile::create(names.output, names.input));
    const std::string& place = target->temporary_path();
    RETURN_IF_ERROR(
        about_output(names.output, classic ? rewrite_classic(names.input, place, plan, progress)
                                           : rewrite_hdf5(names.input, place, plan, progress)));
    // A failure that a library kept to itself.
    if (const auto system = take_system_error(); system && system->writing) {
      return about_output(names.output, io_error(system->reason)).error();
    }
    TRY(RewriteReport report, report_of(file, plan, classic, place));
    if (classic && leave_out_what_grew(report, plan)) continue;
    RETURN_IF_ERROR(watch.check());
    TRY(const bool better, is_better_as_it_was(names, report, classic, place));
    if (!better) {
      RETURN_IF_ERROR(target->finish());
      return report;
    }
    RETURN_IF_ERROR(copy_bytes(names));
    for (RewrittenVariable& row : report.variables) {
      row.bytes_out = row.stored_before;
      if (row.treatment == Treatment::exact) row.treatment = Treatment::not_smaller;
    }
    report.copied = true;
    return report;
  }
}

Result<void> check_has_filters(const std::string& output) {
  if (!is_classic_file_name(output)) return {};
  return unsupported("classic NetCDF files (.cdf) have no filters; name the output .nc or .h5");
}

}  // namespace

Result<RewriteReport> rewrite_file(const std::string& input, const std::string& output,
                                   const RewriteOptions& options) {
  RETURN_IF_ERROR(check_has_filters(output));
  TRY(const InputWatch watch, InputWatch::begin(input));
  TRY(const auto file, NetcdfFile::open(input));
  TRY(RewritePlan plan, plan_rewrite(*file, options));
  return write_planned(*file, {input, output}, std::move(plan), options.progress, watch);
}

Result<RewriteReport> restore_file(const std::string& input, const std::string& output,
                                   const RestoreOptions& options) {
  RETURN_IF_ERROR(check_has_filters(output));
  TRY(const InputWatch watch, InputWatch::begin(input));
  TRY(const auto file, NetcdfFile::open(input));
  TRY(RewritePlan plan, plan_restoring(*file, options));
  return write_planned(*file, {input, output}, std::move(plan), options.progress, watch);
}

}  // namespace tensorpress::files
