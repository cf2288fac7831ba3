// tensorpress compress: tensors from files or a pipe become .tpz streams; variables of NetCDF and
// HDF5 files become one each, or the whole file is written again with our filter.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "array_files/array_files.h"
#include "array_files/table.h"
#include "array_files/whole_files.h"
#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_again.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/inputs/variable_source.h"
#include "command_line/interruption.h"
#include "command_line/options/bound_options.h"
#include "command_line/options/codec_options.h"
#include "command_line/options/force_option.h"
#include "command_line/options/stream_options.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/batch.h"
#include "command_line/reports/bound_remark.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/progress_bar.h"
#include "command_line/reports/stream_report.h"
#include "files/bytes/byte_files.h"
#include "files/bytes/spooled_input.h"
#include "files/rewriting/earlier_loss.h"
#include "stream/bounds/resolve.h"
#include "verify/verification.h"
#include "verify/verify_files.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string input;  // the one of them that is worked on, and its output
  std::string output;
  ForceOption force;
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

/// What was asked for, with all else that the options say.
Result<CompressOptions> write_options(const Options& options, CompressOptions write) {
  write.threads = options.threads.threads();
  RETURN_IF_ERROR(options.stream.apply_to(write));
  return write;
}

Result<CompressOptions> write_options(const Options& options) {
  TRY(auto asked, options.bound.options_for_all());
  return write_options(options, std::move(asked));
}

/// A tensor on its way: from where, with what beside it, to where.
struct Job {
  std::string name;  // of the input, for messages
  std::string variable = {};
  std::string output;
  std::unique_ptr<TensorSource> source = {};
  CompressOptions write = {};
};

struct Done {
  StreamInfo info;
  double seconds = 0;
  std::string bound_remark = {};
  Verification verification = {};
};

/// Codecs with a bound, one of which is the default, take no whole numbers.
Result<void> check_type(const Options& options, const Codec& codec, DType dtype) {
  const std::vector<CodecInfo> all = codecs();
  const auto info = std::ranges::find(all, codec.name(), &CodecInfo::name);
  if (info == all.end() || !info->error_bounded || is_floating(dtype)) {
    return options.bound.check_for(codec);
  }
  return bad_argument("its elements are ", name_of(dtype), ", and codec ", codec.name(),
                      " takes f32, f64, f16 and bf16; --codec dct-chop takes whole numbers, or ",
                      "convert them first, in NumPy with array.astype('float32')");
}

/// Everything from the opened input to the finished output file.
Result<Done> perform(const Options& options, const Codec& codec, Job job) {
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
  auto written = write_stream(codec, *job.source, sink, job.write);
  if (!written.ok() && job.write.earlier_error) {
    return about(job.name, files::with_way_out(earlier_loss(options), written.error()));
  }
  TRY(StreamInfo info, about(job.name, std::move(written)));
  RETURN_IF_ERROR(check_interruption());
  RETURN_IF_ERROR(file->finish());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Done done{std::move(info), took.count(), std::move(bound_remark)};
  if (options.verify) {
    TRY(const auto raw, options.raw.format_of(options.input));
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

/// What is said on stderr after the result, `about_what` first, and the status that follows.
void add_remarks(const Options& options, const std::string& about_what, const std::string& output,
                 const Done& done, FileReport& report) {
  for (const std::string& remark : {done.bound_remark, remark_on_raw_chunks(done.info)}) {
    if (!remark.empty()) report.remarks.push_back(text(about_what, remark));
  }
  if (!options.verify || done.verification.ok) return;
  report.remarks.push_back(text(output, ": ", done.verification.reason));
  report.status = ExitStatus::check_failed;
}

/// From a pipe that may have been looked at already, or by name; a stream is compressed again.
Result<std::unique_ptr<TensorSource>> open_source(const Options& options, const Codec& codec,
                                                  CompressOptions& write,
                                                  std::optional<files::FileInput> pipe) {
  TRY(const auto raw, options.raw.format_of(options.input));
  if (!raw && !pipe && is_stream_file(options.input)) {
    if (options.verify) {
      return bad_argument("--verify compares with the original, and '", options.input,
                          "' is a compressed stream; use tensorpress verify with the original");
    }
    return about(options.input, open_stream_again(options.input, earlier_loss(options), write));
  }
  const auto access =
      stream::needs_the_data(codec, write) ? files::Access::random : files::Access::in_order;
  return about(options.input, pipe ? files::open_tensor(std::move(*pipe), raw, access)
                                   : files::open_tensor(options.input, raw, access));
}

Result<FileReport> compress_tensor(const Options& options,
                                   std::optional<files::FileInput> pipe = {}) {
  const std::string output =
      options.output.empty() ? default_output(options.input, ".tpz") : options.output;
  TRY(const Codec codec, options.codec.codec());
  TRY(auto asked, options.bound.options());
  TRY(CompressOptions write, write_options(options, std::move(asked)));
  if (!options.variables.empty()) {
    return bad_argument("--var names a variable of a NetCDF or HDF5 file, and '", options.input,
                        "' is neither");
  }
  TRY(auto source, open_source(options, codec, write, std::move(pipe)));
  TRY(const Done done, perform(options, codec,
                               {.name = options.input,
                                .output = output,
                                .source = std::move(source),
                                .write = std::move(write)}));
  FileReport report{.fields = to_json(options, done),
                    .bytes_in = done.info.bytes_in(),
                    .bytes_out = done.info.bytes_out,
                    .to = is_pipe(output) ? stderr : stdout};
  report.lines = compression_in_one_line(options.input, output, done.info, done.seconds);
  if (options.verify) report.lines += fields_in_words(done.verification.fields);
  const bool several = options.inputs.size() > 1;
  if (several) report.fields["output"] = output;
  add_remarks(options, several ? text(options.input, ": ") : "", output, done, report);
  return report;
}

/// The variables, each with its own bound if it has one.
Result<std::vector<files::ChosenVariable>> chosen_with_bounds(const Options& options,
                                                              const files::NetcdfFile& file) {
  TRY(const auto rules, options.bound.per_variable());
  if (!rules.empty()) {
    TRY(auto chosen, rules.choose(file, options.variables, true));
    if (chosen.empty()) return bad_argument("no variable has a bound");
    return chosen;
  }
  TRY(const auto variables, chosen_variables(file, options.variables));
  std::vector<files::ChosenVariable> chosen;
  for (const auto* const variable : variables) chosen.push_back({variable, {}});
  return chosen;
}

Result<Job> job_for(const Options& options, files::NetcdfFile& file,
                    const files::ChosenVariable& chosen, const std::string& output) {
  const files::NetcdfVariable& variable = *chosen.variable;
  Job job{
      .name = text(is_pipe(options.input) ? "standard input" : options.input, ": ", variable.path),
      .variable = variable.path,
      .output = output};
  TRY(job.write, write_options(options));
  if (chosen.choice.compress.bound) job.write = chosen.choice.options_beside(job.write);
  TRY(auto opened,
      about(options.input, open_variable(file, variable, earlier_loss(options), job.write)));
  if (!opened.remark.empty()) print_message(text(job.name, ": ", opened.remark));
  job.source = std::move(opened.source);
  return job;
}

/// `path` is where the input is read; that of a pipe is another.
Result<FileReport> compress_variables(const Options& options, const std::string& path) {
  RETURN_IF_ERROR(prepare_for(path));
  TRY(const auto file, about(options.input, files::NetcdfFile::open(path)));
  TRY(const auto choices, about(options.input, chosen_with_bounds(options, *file)));
  std::vector<const files::NetcdfVariable*> chosen;
  for (const auto& each : choices) chosen.push_back(each.variable);
  if (options.variables.empty() && chosen.size() > 1) {
    std::string listed;
    for (const auto* variable : chosen) listed += text(listed.empty() ? "" : ", ", variable->path);
    return bad_argument(options.input, " has several variables: ", listed,
                        "; choose with --var NAME, or --var '*' for all of them");
  }
  TRY(const auto outputs, outputs_for(options.input, options.output, chosen));
  for (const std::string& output : outputs) {
    RETURN_IF_ERROR(options.force.check_data(options.inputs, output));
  }
  if (chosen.size() == 1) RETURN_IF_ERROR(check_stream_name(outputs.front()));
  const bool several = chosen.size() > 1;
  TRY(const Codec codec, options.codec.codec());
  Json all = Json::array();
  std::vector<TableRow> rows;
  FileReport report{.to = is_pipe(outputs.front()) ? stderr : stdout};
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const files::NetcdfVariable* const variable = chosen[i];
    const std::string& output = outputs[i];
    TRY(const std::uint64_t stored, about(options.input, file->stored_bytes(*variable)));
    TRY(Job job, job_for(options, *file, choices[i], output));
    TRY(const Done done, perform(options, choices[i].choice.codec.value_or(codec), std::move(job)));
    Json fields = to_json(options, done);
    fields["variable"] = variable->path;
    fields["output"] = output;
    if (stored > 0) fields["stored_bytes"] = stored;
    all.push_back(std::move(fields));
    rows.push_back({.variable = variable->path,
                    .type = variable->type,
                    .extents = variable->extents,
                    .bytes_in = bytes_in_file(done.info),
                    .stored = stored,
                    .bytes_out = done.info.bytes_out,
                    .remark = text(error_in_words(done.info), ", ", output)});
    report.bytes_in += bytes_in_file(done.info);
    report.bytes_out += done.info.bytes_out;
    report.lines = compression_in_one_line(text(options.input, ":", variable->path), output,
                                           done.info, done.seconds, stored);
    add_remarks(options, text(variable->path, ": "), output, done, report);
  }
  report.fields = several ? Json{{"variables", all}} : all.front();
  if (several) {
    report.lines = table_of(rows);
  } else if (options.verify) {
    report.lines += fields_in_words(all.front()["verify"]);
  }
  return report;
}

Result<FileReport> rewrite(const Options& options) {
  if (options.stream.given()) {
    return bad_argument("--chunk-shape and --attr are for .tpz files, and '", options.output,
                        "' is a NetCDF or HDF5 file");
  }
  RETURN_IF_ERROR(options.force.check(options.inputs, options.output));
  TRY(Codec codec, options.codec.codec());
  RETURN_IF_ERROR(options.bound.check_for(codec));
  TRY(CompressOptions write, write_options(options));
  TRY(auto rules, options.bound.per_variable());
  files::RewriteOptions rewriting{.codec = std::move(codec),
                                  .compress = std::move(write),
                                  .per_variable = std::move(rules),
                                  .variables = options.variables,
                                  .earlier_loss = earlier_loss(options)};
  std::erase(rewriting.variables, "*");
  return rewrite_whole_file({.input = options.input,
                             .output = options.output,
                             .options = std::move(rewriting),
                             .verify = options.verify});
}

/// Standard input: an array file is copied to where its library can read it.
Result<FileReport> compress_pipe(Options options) {
  if (files::is_array_file_name(options.output)) {
    return bad_argument("'", options.output, "' would be a whole NetCDF or HDF5 file, which is ",
                        "made from files and not from pipes; name the file");
  }
  RETURN_IF_ERROR(check_stream_name(options.output));
  TRY(const auto raw, options.raw.format());
  if (raw) return compress_tensor(options);
  TRY(auto pipe, files::open_standard_input());
  TRY(const auto beginning, pipe.peek(8));
  if (files::array_format_of(beginning) == files::ArrayFormat::other) {
    return compress_tensor(options, std::move(pipe));
  }
  TRY(const auto spooled, files::SpooledInput::copy(std::move(pipe)));
  note_interruptions();  // from here on there is a file to be removed
  if (options.output.empty()) options.output = "-";
  return compress_variables(options, spooled.path());
}

Result<FileReport> compress_one(const Options& options) {
  if (options.verify && (is_pipe(options.input) || is_pipe(options.output))) {
    return bad_argument("--verify reads both files again and cannot do that with a pipe");
  }
  if (is_pipe(options.input)) return compress_pipe(options);
  RETURN_IF_ERROR(check_exists(options.input));
  TRY(const auto raw, options.raw.format_of(options.input));
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
  if (!files::is_array_file_name(options.output)) return compress_variables(options, options.input);
  return rewrite(options);
}

/// An array file has a stream for each variable, which are named when they are known.
bool is_named_by_variables(const Options& options, const std::string& input) {
  const auto raw = options.raw.format_of(input);
  return raw.ok() && !*raw && files::array_format_of(input) != files::ArrayFormat::other;
}

Result<ExitStatus> run(const Options& options) {
  TRY(const auto outputs, outputs_of(options.inputs, options.output, ".tpz"));
  const bool directory = !options.output.empty() && names_directory(options.output);
  if (options.inputs.size() > 1) {
    for (const std::string& output : outputs) {
      RETURN_IF_ERROR(check_not_input(options.inputs, output));
    }
  }
  // Before the first file, so that a mistake is told once and not of each.
  RETURN_IF_ERROR(options.codec.codec());
  RETURN_IF_ERROR(write_options(options));
  if (directory) RETURN_IF_ERROR(make_directory(options.output));
  std::size_t next = 0;
  return work_on_files(options.inputs, options.json, [&](const std::string& input) {
    const std::string& output = outputs[next++];
    Options one = options;
    one.input = input;
    const bool by_variables = is_named_by_variables(options, input);
    if (directory && !by_variables) one.output = output;
    return compress_one(one);
  });
}

Action declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("IN", options->inputs,
                 ".npy, raw, NetCDF or HDF5 files to compress; - is standard input. A raw file may "
                 "say its shape and type in its name: field_20x180x360.f32")
      ->required()
      ->option_text("...");
  app.add_option("-o,--output", options->output,
                 "output file, or a directory (DIR/), which several inputs need; - is standard "
                 "output; .nc or .h5: a copy of the whole NetCDF or HDF5 file with its "
                 "floating-point variables compressed")
      ->option_text("OUT (IN with .tpz)");
  options->force.declare(app);
  app.add_option("--var", options->variables,
                 "variable of a NetCDF or HDF5 file (GROUP/NAME); may be repeated; '*' is all data")
      ->option_text("NAME")
      ->allow_extra_args(false);
  options->bound.declare_per_variable(app);
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
          "  tensorpress compress *.npy --rel 1e-4 -o compressed/\n"
          "  tensorpress compress run.nc --var TEMP --rel 1e-4\n"
          "  tensorpress compress run.nc --rel 1e-4 -o small.nc\n"
          "  tensorpress compress run.nc --abs tas=0.01 --rel 'ocean/*'=1e-4 -o small.nc",
          declare};
}

}  // namespace tensorpress::cli
