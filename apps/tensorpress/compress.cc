// tensorpress compress: a tensor from a file or pipe becomes a .tpz stream; variables of NetCDF and
// HDF5 files become one each, or the whole file is written again with our filter.
#include <chrono>
#include <filesystem>
#include <memory>

#include "array_files.h"
#include "base/errors.h"
#include "bound_options.h"
#include "codec_options.h"
#include "files/byte_files.h"
#include "files/earlier_loss.h"
#include "files/provenance.h"
#include "interruption.h"
#include "messages.h"
#include "paths.h"
#include "progress_bar.h"
#include "stream/resolve.h"
#include "stream_file.h"
#include "stream_options.h"
#include "stream_report.h"
#include "table.h"
#include "tensor_options.h"
#include "verification.h"
#include "whole_files.h"

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
  std::vector<std::string> variables;
  bool from_here = false;
  bool verify = false;
  bool json = false;
};

files::EarlierLoss earlier_loss(const Options& options) {
  return {.from_here = options.from_here, .from_here_name = "--from-here"};
}

Result<stream::WriteOptions> write_options(const Options& options) {
  stream::WriteOptions write;
  write.threads = options.threads.threads();
  TRY(write.bound, options.bound.options());
  RETURN_IF_ERROR(options.stream.apply_to(write));
  return write;
}

/// A tensor on its way: from where, with what beside it, to where.
struct Job {
  std::string name;  // of the input, for messages
  std::string variable = {};
  std::string output;
  std::unique_ptr<stream::TensorSource> source = {};
  stream::WriteOptions write = {};
};

struct Done {
  StreamInfo info;
  double seconds = 0;
  Verification verification = {};
};

/// Everything from the opened input to the finished output file.
Result<Done> perform(const Options& options, const Codec& codec, Job job) {
  const auto begin = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(check_output(options.input, job.output));
  TRY(const auto file, files::AtomicFile::create(job.output));
  RETURN_IF_ERROR(about(job.name, options.bound.check_for(codec)));
  note_interruptions();
  InterruptibleByteSink sink(*file);
  ProgressBar bar("compressing");
  job.write.progress = bar.callback();
  auto written = stream::write_stream(codec, *job.source, sink, job.write);
  if (!written.ok() && written.error().code == ErrorCode::bad_argument &&
      job.write.bound.earlier_error) {
    return about(job.name, bad_argument(written.error().message, ": --from-here"));
  }
  TRY(StreamInfo info, about(job.name, std::move(written)));
  RETURN_IF_ERROR(file->finish());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Done done{std::move(info), took.count()};
  if (options.verify) {
    TRY(const auto raw, options.raw.format());
    TRY(done.verification,
        verify_stream(options.input, raw, job.output, options.threads.threads(), job.variable));
  }
  return done;
}

Json to_json(const Options& options, const Done& done) {
  Json fields = describe(done.info);
  fields["seconds"] = done.seconds;
  fields["compress_gb_per_s"] = gb_per_s(done.info.bytes_in(), done.seconds);
  if (options.verify) fields["verify"] = done.verification.fields;
  return fields;
}

/// What is said on stderr after the result, `about_what` first; the status that follows from it.
ExitStatus remark(const Options& options, const std::string& about_what, const std::string& output,
                  const Done& done) {
  if (const std::string remark = remark_on_raw_chunks(done.info); !remark.empty()) {
    print_message(text(about_what, remark));
  }
  if (!options.verify || done.verification.ok) return ExitStatus::fine;
  print_message(text(output, ": ", done.verification.reason));
  return ExitStatus::check_failed;
}

Result<ExitStatus> compress_tensor(const Options& options) {
  const std::string output =
      options.output.empty() ? default_output(options.input, ".tpz") : options.output;
  if (options.verify && (is_pipe(options.input) || is_pipe(output))) {
    return bad_argument("--verify reads both files again and cannot do that with a pipe");
  }
  TRY(const auto raw, options.raw.format());
  TRY(const Codec codec, options.codec.codec());
  TRY(stream::WriteOptions write, write_options(options));
  const auto access =
      stream::needs_the_data(codec, write.bound) ? files::Access::random : files::Access::in_order;
  if (!options.variables.empty()) {
    return bad_argument("--var names a variable of a NetCDF or HDF5 file, and '", options.input,
                        "' is neither");
  }
  TRY(auto source, about(options.input, files::open_tensor(options.input, raw, access)));
  TRY(const Done done, perform(options, codec,
                               {.name = options.input,
                                .output = output,
                                .source = std::move(source),
                                .write = std::move(write)}));
  std::FILE* const report = is_pipe(output) ? stderr : stdout;
  if (options.json) {
    print_json(to_json(options, done), report);
  } else {
    std::fputs(compression_in_one_line(options.input, output, done.info, done.seconds).c_str(),
               report);
    if (options.verify) print_fields(done.verification.fields, report);
  }
  return remark(options, "", output, done);
}

Result<Job> job_for(const Options& options, files::NetcdfFile& file,
                    const files::NetcdfVariable& variable, const std::string& output) {
  Job job{.name = text(options.input, ": ", variable.path),
          .variable = variable.path,
          .output = output};
  TRY(job.source, about(options.input, file.source(variable)));
  TRY(files::NetcdfNotes notes, about(options.input, file.notes(variable)));
  if (!notes.left_behind.empty()) {
    std::string listed;
    for (const auto& name : notes.left_behind) listed += text(listed.empty() ? "" : ", ", name);
    print_message(text(job.name, ": a .tpz keeps no coordinates that are text or have several ",
                       "dimensions: ", listed));
  }
  TRY(job.write, write_options(options));
  TRY(const auto history,
      about(options.input, files::history_of(file, variable, options.threads.threads())));
  RETURN_IF_ERROR(about(
      options.input,
      files::count_from_first_values(variable, history, earlier_loss(options), job.write.bound)));
  // Our own attributes tell about the file; a stream has its own way to say it.
  files::erase_own_attributes(notes.attributes);
  for (Attribute& attribute : files::to_attributes(notes)) {
    job.write.attributes.push_back(std::move(attribute));
  }
  if (!history.empty()) {
    job.write.attributes.push_back(
        {std::string(stream::kHistoryAttribute), stream::to_text(history)});
  }
  // Fill values of packed numbers are NaN by now.
  if (!variable.packed) {
    auto& fills = job.write.bound.fill_values;
    fills.insert(fills.end(), variable.fill_values.begin(), variable.fill_values.end());
  }
  return job;
}

Result<ExitStatus> compress_variables(const Options& options) {
  RETURN_IF_ERROR(prepare_for(options.input));
  TRY(const auto file, about(options.input, files::NetcdfFile::open(options.input)));
  TRY(const auto chosen, about(options.input, chosen_variables(*file, options.variables)));
  if (options.variables.empty() && chosen.size() > 1) {
    std::string listed;
    for (const auto* variable : chosen) listed += text(listed.empty() ? "" : ", ", variable->path);
    return bad_argument(options.input, " has several variables: ", listed,
                        "; choose with --var NAME, or --var '*' for all of them");
  }
  TRY(const auto outputs, outputs_for(options.input, options.output, chosen));
  if (chosen.size() == 1) RETURN_IF_ERROR(check_stream_name(outputs.front()));
  const bool several = chosen.size() > 1;
  TRY(const Codec codec, options.codec.codec());
  Json all = Json::array();
  std::vector<TableRow> rows;
  std::string line;
  ExitStatus status = ExitStatus::fine;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const files::NetcdfVariable* const variable = chosen[i];
    const std::string& output = outputs[i];
    TRY(Job job, job_for(options, *file, *variable, output));
    TRY(const Done done, perform(options, codec, std::move(job)));
    Json fields = to_json(options, done);
    fields["variable"] = variable->path;
    fields["output"] = output;
    TRY(const std::uint64_t stored, about(options.input, file->stored_bytes(*variable)));
    if (stored > 0) fields["stored_bytes"] = stored;
    all.push_back(std::move(fields));
    rows.push_back({.variable = variable->path,
                    .type = variable->type,
                    .extents = variable->extents,
                    .bytes_in = bytes_in_file(done.info),
                    .stored = stored,
                    .bytes_out = done.info.bytes_out,
                    .remark = text(error_in_words(done.info), ", ", output)});
    line = compression_in_one_line(text(options.input, ":", variable->path), output, done.info,
                                   done.seconds, stored);
    if (remark(options, text(variable->path, ": "), output, done) != ExitStatus::fine) {
      status = ExitStatus::check_failed;
    }
  }
  std::FILE* const report = is_pipe(options.output) ? stderr : stdout;
  if (options.json) {
    print_json(several ? Json{{"variables", all}} : all.front(), report);
  } else if (several) {
    std::fputs(table_of(rows).c_str(), report);
  } else {
    std::fputs(line.c_str(), report);
    if (options.verify) print_fields(all.front()["verify"], report);
  }
  return status;
}

Result<ExitStatus> rewrite(const Options& options) {
  if (options.verify || options.stream.given()) {
    return bad_argument("--verify, --chunk-shape and --attr are for .tpz files, and '",
                        options.output, "' is a NetCDF or HDF5 file");
  }
  TRY(Codec codec, options.codec.codec());
  RETURN_IF_ERROR(options.bound.check_for(codec));
  TRY(stream::WriteOptions write, write_options(options));
  files::RewriteOptions rewriting{.codec = std::move(codec),
                                  .bound = std::move(write.bound),
                                  .variables = options.variables,
                                  .threads = options.threads.threads(),
                                  .earlier_loss = earlier_loss(options)};
  std::erase(rewriting.variables, "*");
  return rewrite_whole_file({.input = options.input,
                             .output = options.output,
                             .options = std::move(rewriting),
                             .json = options.json});
}

Result<ExitStatus> run(const Options& options) {
  TRY(const auto raw, options.raw.format());
  RETURN_IF_ERROR(check_exists(options.input));
  if (raw || files::array_format_of(options.input) == files::ArrayFormat::other) {
    if (files::is_array_file_name(options.output)) {
      return bad_argument("'", options.output,
                          "' would be a NetCDF or HDF5 file, which are made "
                          "from such files only; compress writes .tpz");
    }
    std::error_code ignored;  // of pipes, which must not be opened to look
    if (!raw && files::is_array_file_name(options.input) && !is_npy_file(options.input) &&
        std::filesystem::is_regular_file(options.input, ignored)) {
      return corrupt("'", options.input,
                     "' begins like neither NetCDF nor HDF5; it may be cut off");
    }
    RETURN_IF_ERROR(check_not_input({options.input}, options.output));
    RETURN_IF_ERROR(check_stream_name(options.output));
    return compress_tensor(options);
  }
  return files::is_array_file_name(options.output) ? rewrite(options) : compress_variables(options);
}

Action declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("IN", options->input,
                 ".npy, raw, NetCDF or HDF5 file to compress; - is standard input")
      ->required()
      ->option_text(" ");
  app.add_option("-o,--output", options->output,
                 "where to; - is standard output; .nc or .h5: the whole NetCDF or HDF5 file again, "
                 "its floats compressed by our HDF5 filter")
      ->option_text("OUT (IN with .tpz)");
  app.add_option("--var", options->variables,
                 "variable of a NetCDF or HDF5 file (GROUP/NAME); may be repeated; '*' is all data")
      ->option_text("NAME")
      ->allow_extra_args(false);
  options->bound.declare(app);
  options->codec.declare(app);
  options->raw.declare(app);
  app.add_flag("--from-here", options->from_here,
               "of values that were compressed before: the bound counts from the values as they "
               "are now; what was lost before is added to the history")
      ->group(kBoundGroup);
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
  return {"compress", "make a tensor smaller: .npy, raw, NetCDF or HDF5 to .tpz",
          "  tensorpress compress x.npy --rel 1e-4 -o x.tpz\n"
          "  tensorpress compress field.raw --shape 20x180x360 --dtype f32 --abs 0.01\n"
          "  tensorpress compress run.nc --var TEMP --rel 1e-4\n"
          "  tensorpress compress run.nc --rel 1e-4 -o small.nc",
          declare};
}

}  // namespace tensorpress::cli
