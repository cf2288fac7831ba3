#include "compression.h"

#include <algorithm>
#include <chrono>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/interruption.h"
#include "command_line/reports/bound_remark.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/progress_bar.h"
#include "command_line/reports/stream_report.h"
#include "files/bytes/byte_files.h"
#include "on_device.h"

namespace tensorpress::cli {
namespace {

/// Codecs with a bound, one of which is the default, take no whole numbers.
Result<void> check_type(const CompressArguments& options, const Codec& codec, DType dtype) {
  const std::vector<CodecInfo> all = codecs();
  const auto info = std::ranges::find(all, codec.name(), &CodecInfo::name);
  if (info == all.end() || !info->error_bounded || is_floating(dtype)) {
    return options.bound.check_for(codec);
  }
  return bad_argument("its elements are ", name_of(dtype), ", and codec ", codec.name(),
                      " takes f32, f64, f16 and bf16; --codec dct-chop takes whole numbers, or ",
                      "convert them first, in NumPy with array.astype('float32')");
}

}  // namespace

Result<Compressed> run_compression(const CompressArguments& options, const Codec& codec,
                                   Compression job) {
  const auto begin = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(options.force.check_data(options.inputs, job.output));
  RETURN_IF_ERROR(about(job.name, check_type(options, codec, job.source->dtype())));
  TRY(const auto file, files::AtomicFile::create(
                           job.output, is_pipe(options.input) ? std::string() : options.input));
  TRY(std::string bound_remark, about(job.name, remark_on_bound(job.write, *job.source)));
  note_interruptions();
  InterruptibleByteSink sink(*file);
  ProgressBar bar("compressing");
  job.write.progress = bar.callback();
  auto written = options.device.empty()
                     ? write_stream(codec, *job.source, sink, job.write)
                     : write_stream_on_device(options.device, codec, *job.source, sink, job.write);
  if (!written.ok() && job.write.earlier_error) {
    return about(job.name, files::with_way_out(options.earlier_loss(), written.error()));
  }
  TRY(StreamInfo info, about(job.name, std::move(written)));
  RETURN_IF_ERROR(check_interruption());
  RETURN_IF_ERROR(file->finish());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Compressed done{std::move(info), took.count(), std::move(bound_remark)};
  if (options.verify) {
    TRY(const auto raw, options.raw.format_of(options.input));
    TRY(done.verification,
        verify_stream(options.input, raw, job.output, options.threads.threads(), job.variable));
  }
  return done;
}

Json to_json(const CompressArguments& options, const Compressed& done) {
  Json fields = describe(done.info).to_json();
  fields["seconds"] = done.seconds;
  fields["compress_gb_per_s"] = gb_per_s(done.info.bytes_in(), done.seconds);
  if (options.verify) fields["verify"] = done.verification.fields.to_json();
  return fields;
}

void add_remarks(const CompressArguments& options, const std::string& about_what,
                 const std::string& output, const Compressed& done, FileReport& report) {
  for (const std::string& remark : {done.bound_remark, remark_on_raw_chunks(done.info)}) {
    if (!remark.empty()) report.remarks.push_back(text(about_what, remark));
  }
  if (!options.verify || done.verification.ok) return;
  report.remarks.push_back(text(output, ": ", done.verification.reason));
  report.status = ExitStatus::check_failed;
}

}  // namespace tensorpress::cli
