// tensorpress compress: tensors from files or a pipe become .tpz streams; variables of NetCDF and
// HDF5 files become one each, or the whole file is written again with our filter.
#include <filesystem>
#include <memory>

#include "array_files/whole_files.h"
#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/interruption.h"
#include "command_line/verb.h"
#include "compress_tensor.h"
#include "compress_variables.h"
#include "files/bytes/spooled_input.h"
#include "files/netcdf/file.h"

namespace tensorpress::cli {
namespace {

Result<FileReport> rewrite(const CompressArguments& options) {
  if (!options.device.empty()) {
    return bad_argument("--device writes .tpz files, and '", options.output,
                        "' is a whole NetCDF or HDF5 file; give -o NAME.tpz and --var, or leave "
                        "--device out");
  }
  if (options.stream.given()) {
    return bad_argument("--chunk-shape and --attr are for .tpz files, and '", options.output,
                        "' is a NetCDF or HDF5 file");
  }
  RETURN_IF_ERROR(options.force.check(options.inputs, options.output));
  TRY(Codec codec, options.codec.codec());
  RETURN_IF_ERROR(options.bound.check_for(codec));
  TRY(CompressOptions write, options.write_options());
  TRY(auto rules, options.bound.per_variable());
  files::RewriteOptions rewriting{.codec = std::move(codec),
                                  .compress = std::move(write),
                                  .per_variable = std::move(rules),
                                  .variables = options.variables,
                                  .earlier_loss = options.earlier_loss()};
  std::erase(rewriting.variables, "*");
  return rewrite_whole_file({.input = options.input,
                             .output = options.output,
                             .options = std::move(rewriting),
                             .verify = options.verify});
}

/// Standard input: an array file is copied to where its library can read it.
Result<FileReport> compress_pipe(CompressArguments options, Reporter& reporter) {
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
  return compress_variables(options, spooled.path(), reporter);
}

Result<FileReport> compress_one(const CompressArguments& options, Reporter& reporter) {
  if (options.verify && (is_pipe(options.input) || is_pipe(options.output))) {
    return bad_argument("--verify reads both files again and cannot do that with a pipe");
  }
  if (is_pipe(options.input)) return compress_pipe(options, reporter);
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
  if (!files::is_array_file_name(options.output)) {
    return compress_variables(options, options.input, reporter);
  }
  return rewrite(options);
}

/// An array file has a stream for each variable, which are named when they are known.
bool is_named_by_variables(const CompressArguments& options, const std::string& input) {
  const auto raw = options.raw.format_of(input);
  return raw.ok() && !*raw && files::array_format_of(input) != files::ArrayFormat::other;
}

Result<Report> run(const CompressArguments& options, Reporter& reporter) {
  TRY(const auto outputs, outputs_of(options.inputs, options.output, ".tpz"));
  const bool directory = !options.output.empty() && names_directory(options.output);
  if (options.inputs.size() > 1) {
    for (const std::string& output : outputs) {
      RETURN_IF_ERROR(check_not_input(options.inputs, output));
    }
  }
  // Before the first file, so that a mistake is told once and not of each.
  RETURN_IF_ERROR(options.codec.codec());
  RETURN_IF_ERROR(options.write_options());
  if (directory) RETURN_IF_ERROR(make_directory(options.output));
  std::size_t next = 0;
  return work_on_files(options.inputs, reporter, [&](const std::string& input) {
    const std::string& output = outputs[next++];
    CompressArguments one = options;
    one.input = input;
    const bool by_variables = is_named_by_variables(options, input);
    if (directory && !by_variables) one.output = output;
    return compress_one(one, reporter);
  });
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<CompressArguments>();
  options->declare(arguments);
  return [options](Reporter& reporter) { return run(*options, reporter); };
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
          "print one JSON object (on stderr if stdout carries the data)", declare};
}

}  // namespace tensorpress::cli
