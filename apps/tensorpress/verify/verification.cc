#include "verification.h"

#include <cstdlib>
#include <limits>
#include <memory>

#include "array_files/array_files.h"
#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/interruption.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/progress_bar.h"
#include "files/bytes/byte_files.h"
#include "metrics/stream_comparison.h"
#include "metrics/verdict.h"
#include "stream/reader.h"

namespace tensorpress::cli {
namespace {

/// Sends every chunk of the stream to the comparison.
Result<StreamInfo> read_into(const std::string& path, metrics::StreamComparison& comparison,
                             const DecompressOptions& options) {
  if (is_pipe(path)) {
    const auto input = files::standard_input();
    const auto make_sink = [&](const StreamInfo& info) -> Result<std::unique_ptr<TensorSink>> {
      RETURN_IF_ERROR(comparison.expect(info));
      return std::unique_ptr<TensorSink>(std::make_unique<InterruptibleTensorSink>(comparison));
    };
    return read_sequentially(*input, make_sink, options);
  }
  TRY(const auto source, files::open_bytes(path));
  TRY(const auto reader, StreamReader::open(*source));
  RETURN_IF_ERROR(comparison.expect(reader.info()));
  InterruptibleTensorSink interruptible(comparison);
  RETURN_IF_ERROR(reader.read_all(interruptible, options));
  return reader.info();
}

Verification judge(const metrics::ErrorStatistics& measured, const std::optional<double>& ssim,
                   const StreamInfo& info) {
  const std::optional<double> stored_l2_error = info.statistic("l2_error");
  Verification result;
  ReportFields& fields = result.fields;
  fields.set("max_abs_error", measured.max_abs_error);
  fields.set("max_rel_error", measured.max_rel_error());
  if (const auto bound = info.codec.parameter("bound"); !bound.empty()) {
    fields.set("bound", bound);
    fields.set("limit", std::strtod(std::string(info.codec.parameter("limit")).c_str(), nullptr));
    if (bound.starts_with("pw-rel")) {
      fields.set("max_pointwise_error", measured.max_pointwise_error);
    }
  }
  fields.set("psnr_db", measured.psnr_db());
  fields.set("nrmse", measured.nrmse());
  if (ssim) fields.set("ssim", *ssim);
  fields.set("l2_error", measured.l2_error());
  fields.set("stored_l2_error", stored_l2_error ? Json(*stored_l2_error) : Json(nullptr));
  result.reason = metrics::what_is_wrong(measured, info);
  result.ok = result.reason.empty();
  result.bytes_in = info.bytes_in();
  result.bytes_out = info.bytes_out;
  fields.set("ok", result.ok);
  return result;
}

/// The variable that a stream says it was made from; "" if it does not.
std::string variable_of(const std::string& stream_path) {
  if (is_pipe(stream_path)) return {};
  const auto source = files::open_bytes(stream_path);
  if (!source.ok()) return {};
  const auto reader = StreamReader::open(**source);
  if (!reader.ok()) return {};
  const auto notes = files::netcdf_notes(reader->info().attributes);
  return notes.ok() && *notes ? (*notes)->variable : std::string();
}

Result<std::unique_ptr<TensorSource>> open_original(const std::string& path,
                                                    const std::optional<files::RawFormat>& raw,
                                                    const std::string& stream_path,
                                                    const std::string& variable) {
  const bool other = files::array_format_of(path) == files::ArrayFormat::other;
  if (raw || other) {
    if (!variable.empty()) {
      return bad_argument("'", path, other ? "' is not a NetCDF or HDF5 file" : "' is read as raw",
                          " and has no variable '", variable, "'");
    }
    return files::open_tensor(path, raw);
  }
  RETURN_IF_ERROR(prepare_for(path));
  return files::open_netcdf_tensor(path, variable.empty() ? variable_of(stream_path) : variable);
}

}  // namespace

Result<Verification> verify_stream(const std::string& original,
                                   const std::optional<files::RawFormat>& raw,
                                   const std::string& stream_path, std::size_t threads,
                                   const std::string& variable) {
  if (is_pipe(original) && is_pipe(stream_path)) {
    return bad_argument("the original and the stream cannot both be standard input");
  }
  TRY(const auto source, about(original, open_original(original, raw, stream_path, variable)));
  metrics::StreamComparison comparison(*source, {.ssim = true});
  ProgressBar bar("verifying");
  DecompressOptions options;
  options.threads = threads;
  options.max_bytes = std::numeric_limits<std::uint64_t>::max();  // it is compared chunk by chunk
  options.progress = bar.callback();
  TRY(const StreamInfo info, about(stream_path, read_into(stream_path, comparison, options)));
  return judge(comparison.statistics(), comparison.ssim(), info);
}

}  // namespace tensorpress::cli
