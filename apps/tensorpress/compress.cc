// tensorpress compress: a tensor from a file or pipe becomes a .tpz stream.
#include <chrono>
#include <memory>

#include "base/errors.h"
#include "bound_options.h"
#include "codec_options.h"
#include "files/byte_files.h"
#include "interruption.h"
#include "messages.h"
#include "paths.h"
#include "progress_bar.h"
#include "stream/resolve.h"
#include "stream_options.h"
#include "stream_report.h"
#include "tensor_options.h"
#include "verification.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::string input;
  std::string output;
  CodecOptions codec;
  BoundOptions bound;
  RawFormatOptions raw;
  ThreadsOption threads;
  StreamOptions stream;
  bool verify = false;
  bool json = false;
};

Result<stream::WriteOptions> write_options(const Options& options) {
  stream::WriteOptions write;
  write.threads = options.threads.threads();
  TRY(write.bound, options.bound.options());
  write.bound.on_likely_fill = print_likely_fill;
  RETURN_IF_ERROR(options.stream.apply_to(write));
  return write;
}

/// Everything from opening the input to the finished output file.
Result<StreamInfo> write_output(const Options& options, const std::string& output,
                                const std::optional<files::RawFormat>& raw) {
  TRY(const Codec codec, options.codec.codec());
  TRY(stream::WriteOptions write, write_options(options));
  const auto access =
      stream::needs_the_data(codec, write.bound) ? files::Access::random : files::Access::in_order;
  TRY(const auto source, about(options.input, files::open_tensor(options.input, raw, access)));
  RETURN_IF_ERROR(check_output(options.input, output));
  TRY(const auto file, files::AtomicFile::create(output));

  note_interruptions();
  InterruptibleByteSink sink(*file);
  ProgressBar bar("compressing");
  write.progress = bar.callback();
  TRY(StreamInfo info, about(options.input, stream::write_stream(codec, *source, sink, write)));
  RETURN_IF_ERROR(file->finish());
  return info;
}

Result<ExitStatus> run(const Options& options) {
  const std::string output =
      options.output.empty() ? default_output(options.input, ".tpz") : options.output;
  if (options.verify && (is_pipe(options.input) || is_pipe(output))) {
    return bad_argument("--verify reads both files again and cannot do that with a pipe");
  }
  TRY(const auto raw, options.raw.format());

  const auto begin = std::chrono::steady_clock::now();
  TRY(const StreamInfo info, write_output(options, output, raw));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;

  Verification verification;
  if (options.verify) {
    TRY(verification, verify_stream(options.input, raw, output, options.threads.threads()));
  }

  std::FILE* const report = is_pipe(output) ? stderr : stdout;
  if (options.json) {
    Json fields = describe(info);
    fields["seconds"] = took.count();
    fields["compress_gb_per_s"] = gb_per_s(info.bytes_in(), took.count());
    if (options.verify) fields["verify"] = verification.fields;
    print_json(fields, report);
  } else {
    std::fputs(compression_in_one_line(options.input, output, info, took.count()).c_str(), report);
    if (options.verify) print_fields(verification.fields, report);
  }
  if (const std::string remark = remark_on_raw_chunks(info); !remark.empty()) {
    print_message(remark);
  }
  if (options.verify && !verification.ok) {
    print_message(text(output, ": ", verification.reason));
    return ExitStatus::check_failed;
  }
  return ExitStatus::fine;
}

Action declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("IN", options->input, ".npy or raw file to compress; - is standard input")
      ->required()
      ->option_text(" ");
  app.add_option("-o,--output", options->output, "where to; - is standard output")
      ->option_text("OUT (IN with .tpz)");
  options->bound.declare(app);
  options->codec.declare(app);
  options->raw.declare(app);
  options->threads.declare(app);
  options->stream.declare(app);
  app.add_flag("--verify", options->verify,
               "read the result back and compare, as `tensorpress verify` does");
  app.add_flag("--json", options->json,
               "print one JSON object (on stderr if stdout carries the data)");
  return [options] { return run(*options); };
}

}  // namespace

Verb compress_verb() {
  return {"compress", "make a tensor smaller: .npy or raw to .tpz",
          "  tensorpress compress x.npy --rel 1e-4 -o x.tpz\n"
          "  tensorpress compress sst.npy --rel 1e-3 --fill -1e34\n"
          "  tensorpress compress field.raw --shape 20x180x360 --dtype f32 --abs 0.01\n"
          "  cat x.npy | tensorpress compress - --cf 2 > x.tpz",
          declare};
}

}  // namespace tensorpress::cli
