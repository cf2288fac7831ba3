// tensorpress verify: are streams, or whole NetCDF and HDF5 files, as close to their originals as
// they say?
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/inputs/stream_names.h"
#include "command_line/interruption.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/batch.h"
#include "command_line/reports/messages.h"
#include "command_line/verb.h"
#include "verification.h"
#include "verify_files.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string variable;
  RawFormatOptions raw;
  ThreadsOption threads;

  std::vector<std::string> variables() const {
    return variable.empty() ? std::vector<std::string>() : std::vector{variable};
  }
};

Result<FileReport> verify_pair(const Options& options, const std::string& original,
                               const std::string& stream) {
  TRY(const auto raw, options.raw.format_of(original));
  RETURN_IF_ERROR(check_exists(original));
  if (!raw && are_array_files(original, stream)) {
    note_interruptions();
    TRY(const auto verification, verify_files(original, stream, options.variables()));
    return report_of(verification, stream);
  }
  RETURN_IF_ERROR(check_is_stream(stream));
  note_interruptions();
  TRY(const Verification verification,
      verify_stream(original, raw, stream, options.threads.threads(), options.variable));
  FileReport report{.lines = verification.fields.to_text(),
                    .fields = verification.fields.to_json(),
                    .bytes_in = verification.bytes_in,
                    .bytes_out = verification.bytes_out};
  if (!verification.ok) {
    report.status = ExitStatus::check_failed;
    report.remarks.push_back(text(stream, ": ", verification.reason));
  }
  return report;
}

/// One original with all that was made of it.
Result<FileReport> verify_in(const Options& options, const std::string& original,
                             const std::string& directory) {
  RETURN_IF_ERROR(check_exists(original));
  TRY(const auto streams, streams_made_of(original, directory, options.variable));
  if (streams.size() == 1) {
    TRY(FileReport report, verify_pair(options, original, streams.front()));
    report.fields["stream"] = streams.front();
    return report;
  }
  FileReport all{.fields = {{"streams", Json::array()}}};
  for (const std::string& stream : streams) {
    TRY(FileReport report, verify_pair(options, original, stream));
    report.fields["stream"] = stream;
    all.lines += text(printable(stream), ":\n", report.lines);
    all.fields["streams"].push_back(std::move(report.fields));
    all.remarks.insert(all.remarks.end(), report.remarks.begin(), report.remarks.end());
    all.bytes_in += report.bytes_in;
    all.bytes_out += report.bytes_out;
    all.status = std::max(all.status, report.status);
  }
  return all;
}

Result<Report> run(const Options& options, Reporter& reporter) {
  const std::string& last = options.files.back();
  std::vector<std::string> originals(options.files.begin(), options.files.end() - 1);
  const bool directory = names_directory(last);
  if (originals.empty()) {
    return bad_argument("verify compares '", last,
                        "' with another file, and only one is given: ", "verify ORIGINAL FILE.tpz");
  }
  if (!directory && originals.size() > 1) {
    return bad_argument("verify compares two files, or several originals with the streams in a ",
                        "directory: verify ORIGINAL... DIR/; '", last, "' is not a directory");
  }
  if (!directory) {
    return work_on_files(originals, reporter, [&](const std::string& original) {
      return verify_pair(options, original, last);
    });
  }
  RETURN_IF_ERROR(check_several(originals));
  if (is_pipe(originals.front())) {
    return bad_argument("standard input has no name to look for in '", last, "'; name the stream");
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(last, ignored)) {
    return io_error("there is no directory '", last, "'");
  }
  return work_on_files(
      originals, reporter,
      [&](const std::string& original) { return verify_in(options, original, last); },
      Headings::names);
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments
      .option("FILES", options->files,
              "ORIGINAL FILE.tpz: a .npy, raw, NetCDF or HDF5 file and the stream made from it, "
              "one of which may be -, standard input; or ORIGINAL... DIR/: each with the stream "
              "of its name in a directory")
      .required()
      .shown_as("...");
  arguments.option("--var", options->variable, "variable of a NetCDF or HDF5 file")
      .shown_as("NAME (as the stream says)");
  options->raw.declare(arguments);
  options->threads.declare(arguments);
  return [options](Reporter& reporter) { return run(*options, reporter); };
}

}  // namespace

Verb verify_verb() {
  return {"verify", "compare streams with their originals; status 1 if a stated error is exceeded",
          "  tensorpress verify x.npy x.tpz\n"
          "  tensorpress verify *.npy compressed/\n"
          "  tensorpress verify field.raw field.tpz --shape 20x180x360 --dtype f32 --json\n"
          "  tensorpress compress x.npy --rel 1e-4 -o - | tensorpress verify x.npy -\n"
          "  tensorpress verify run.nc small.nc",
          "print one JSON object; the infinite psnr_db of a perfect copy is null", declare};
}

}  // namespace tensorpress::cli
