// tensorpress decompress: .tpz streams from files or a pipe become .npy, raw, NetCDF or HDF5 files.
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

#include "array_files/whole_files.h"
#include "base/errors.h"
#include "base/tensor/region.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/inputs/tensor_name.h"
#include "command_line/interruption.h"
#include "command_line/options/force_option.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/batch.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/progress_bar.h"
#include "command_line/reports/stream_report.h"
#include "command_line/verb.h"
#include "decompressed_file.h"
#include "files/bytes/byte_files.h"
#include "files/netcdf/file.h"
#include "files/tensor/tensor_files.h"
#include "on_device.h"
#include "stream/reader.h"
#include "stream/slice_reader.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string input;  // the one of them that is worked on, and its output
  std::string output;
  ForceOption force;
  bool raw = false;
  bool skip_corrupt = false;
  std::optional<std::string> slice;
  std::string form = "block";
  int serialize = 1;
  bool method_given = false;
  std::string device;
  ThreadsOption threads;
};

/// The whole tensor or a slice of it.
Result<void> read_to(DecompressedFile& output, const StreamReader& reader,
                     const std::optional<std::string>& slice_text,
                     const DecompressOptions& options) {
  std::optional<Slice> slice;
  if (slice_text) {
    TRY(slice, parse_slice(*slice_text, reader.info().shape));
  }
  TRY(TensorSink* const file, output.create(reader.info(), slice ? &*slice : nullptr));
  InterruptibleTensorSink sink(*file);
  auto done =
      slice ? stream::read_slice(reader, *slice, sink, options) : reader.read_all(sink, options);
  // A stream is to blame for what is corrupt, unless the output complained.
  if (!done.ok() && done.error().code == ErrorCode::corrupt && !sink.failed()) {
    return corrupt(done.error().message, "; --skip-corrupt gets the other chunks");
  }
  return done;
}

Result<StreamInfo> read_file(const Options& options, DecompressedFile& output,
                             const DecompressOptions& read, Reporter& reporter) {
  TRY(const auto source, files::open_bytes(options.input));
  auto opened = StreamReader::open(*source);
  if (!opened.ok() && options.skip_corrupt) {
    reporter.remark(text(options.input, ": its chunks are looked for one by one, because ",
                         opened.error().message));
    opened = StreamReader::open_without_footer(*source);
  }
  TRY(const auto reader, std::move(opened));
  if (!options.device.empty()) {
    TRY(TensorSink* const file, output.create(reader.info()));
    RETURN_IF_ERROR(read_stream_on_device(options.device, *source, reader.info(), read, *file));
    return reader.info();
  }
  RETURN_IF_ERROR(read_to(output, reader, options.slice, read));
  return reader.info();
}

Result<StreamInfo> read_pipe(DecompressedFile& output, const DecompressOptions& options) {
  const auto input = files::standard_input();
  const auto make_sink = [&](const StreamInfo& info) -> Result<std::unique_ptr<TensorSink>> {
    TRY(TensorSink* const file, output.create(info));
    return std::unique_ptr<TensorSink>(std::make_unique<InterruptibleTensorSink>(*file));
  };
  return read_sequentially(*input, make_sink, options);
}

/// Everything from opening the stream to the finished output file.
Result<StreamInfo> write_output(const Options& options, DecompressedFile& output,
                                DecompressOptions read, Reporter& reporter) {
  note_interruptions();
  ProgressBar bar("decompressing");
  read.progress = bar.callback();
  TRY(StreamInfo info,
      about(options.input, is_pipe(options.input) ? read_pipe(output, read)
                                                  : read_file(options, output, read, reporter)));
  RETURN_IF_ERROR(check_interruption());
  RETURN_IF_ERROR(output.finish());
  return info;
}

/// The way to compute, checked by the one codec that has a choice.
Result<std::vector<Parameter>> method_of(const Options& options) {
  std::vector<Parameter> method = {{"form", options.form}, {"serialize", text(options.serialize)}};
  TRY(const Codec checked, Codec::make("dct-chop", method));
  return method;
}

/// "[0:8, 64:128, 0:360]".
std::string in_words(const Region& region) {
  std::string ranges;
  for (std::size_t axis = 0; axis < region.extent.rank(); ++axis) {
    ranges += text(ranges.empty() ? "" : ", ", region.origin[axis], ":",
                   region.origin[axis] + region.extent[axis]);
  }
  return text("[", ranges, "]");
}

std::string in_words(double value) {
  return std::isnan(value) ? "NaN" : text(value);
}

Result<FileReport> decompress_one(const Options& options, const std::string& path,
                                  Reporter& reporter) {
  DecompressOptions read;
  TRY(read.method, method_of(options));
  if (files::array_format_of(options.input) != files::ArrayFormat::other) {
    if (options.slice || options.raw || options.skip_corrupt || options.method_given) {
      return bad_argument(
          "--slice, --raw, --skip-corrupt, --form and --serialize are for .tpz files, and '",
          options.input, "' is a NetCDF or HDF5 file");
    }
    RETURN_IF_ERROR(options.force.check(options.inputs, options.output));
    return restore_whole_file(
        {.input = options.input, .output = options.output, .threads = options.threads.threads()});
  }
  RETURN_IF_ERROR(check_is_stream(options.input));
  RETURN_IF_ERROR(options.force.check_data(options.inputs, path));
  RETURN_IF_ERROR(format_of_output(path, options.raw));
  if (options.slice && is_pipe(options.input)) {
    return bad_argument("--slice reads only the chunks it needs, which a pipe does not allow");
  }

  if (!options.device.empty()) {
    const bool part = options.slice || options.skip_corrupt || options.method_given;
    if (part || is_pipe(options.input)) {
      return bad_argument(
          "--device decompresses whole .tpz files; it does not go with --slice, --skip-corrupt, "
          "--form, --serialize or a pipe");
    }
  }

  std::uint64_t skipped = 0;
  read.threads = options.threads.threads();
  // The output goes to disk chunk by chunk; nothing is allocated on the stream's word.
  read.max_bytes = std::numeric_limits<std::uint64_t>::max();
  if (options.skip_corrupt) {
    read.skip_corrupt = [&](const SkippedChunk& chunk) {
      ++skipped;
      reporter.remark(text(options.input, ": chunk ", chunk.number, ", ", in_words(chunk.region),
                           ", is filled with ", in_words(chunk.value), ": ", chunk.error.message));
    };
  }

  const auto begin = std::chrono::steady_clock::now();
  DecompressedFile output({.path = path,
                           .made_from = is_pipe(options.input) ? "" : options.input,
                           .raw = options.raw,
                           .method_given = options.method_given});
  TRY(const StreamInfo info, write_output(options, output, read, reporter));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  FileReport report{.fields = describe(info).to_json(),
                    .bytes_in = info.bytes_out,
                    .bytes_out = info.bytes_in(),
                    .to = is_pipe(path) ? Channel::standard_error : Channel::standard_output};
  for (const std::string& remark : output.remarks()) {
    report.remarks.push_back(text(path, ": ", remark));
  }
  const bool several = options.inputs.size() > 1;
  if (several) {
    report.fields["output"] = path;
    report.lines = text(printable(options.input), ": ", human_bytes(info.bytes_out), " -> ",
                        printable(path), ": ", human_bytes(info.bytes_in()), "\n");
  }
  report.fields["skipped_chunks"] = skipped;
  report.fields["seconds"] = took.count();
  report.fields["decompress_gb_per_s"] = gb_per_s(info.bytes_in(), took.count());
  // What a stream has no statistics of was read without its footer.
  const bool damaged = skipped > 0 || (options.skip_corrupt && info.statistics.empty());
  report.status = damaged ? ExitStatus::check_failed : ExitStatus::fine;
  return report;
}

Result<Report> run(const Options& options, Reporter& reporter) {
  TRY(const auto outputs,
      outputs_of(options.inputs, options.output, options.raw ? ".raw" : ".npy"));
  if (options.inputs.size() > 1) {
    for (const std::string& output : outputs) {
      RETURN_IF_ERROR(check_not_input(options.inputs, output));
    }
  }
  if (!options.output.empty() && names_directory(options.output)) {
    RETURN_IF_ERROR(make_directory(options.output));
  }
  std::size_t next = 0;
  return work_on_files(options.inputs, reporter, [&](const std::string& input) {
    Options one = options;
    one.input = input;
    return decompress_one(one, outputs[next++], reporter);
  });
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments
      .option("IN", options->inputs,
              ".tpz files; - is standard input. Or a NetCDF or HDF5 file that compress wrote, to "
              "get a copy without our filter")
      .required()
      .shown_as("...");
  arguments
      .option("-o,--output", options->output,
              "output file, or a directory (DIR/), which several inputs need: .npy, .nc or .h5 "
              "(with its name, attributes and coordinates), or .raw; - is standard output as "
              ".npy")
      .shown_as("OUT (IN with .npy)");
  options->force.declare(arguments);
  arguments.flag("--raw", options->raw,
                 "write elements only, little-endian, in C order, under any name");
  arguments
      .option("--slice", options->slice,
              "only this part, as in NumPy: START:STOP:STEP or an index for each axis, ... for "
              "axes between")
      .shown_as("0:10,:,50:100");
  arguments.flag("--skip-corrupt", options->skip_corrupt,
                 "fill chunks that cannot be read with NaN or the fill value (0 among integers), "
                 "with a warning each; status 1 if any");
  arguments
      .option("--form", options->form,
              "dct-chop: the fast block kernel, or the paper's two dense products")
      .shown_as("block|matmul (block)");
  arguments.option("--serialize", options->serialize, "with --form matmul: s x s parts of a plane")
      .shown_as("1..64 (1)");
  arguments
      .option(
          "--device", options->device,
          "decompress on a device that `tensorpress info` lists, opencl or opencl:N; the values "
          "are the same, and the tensor has to fit into the host's memory")
      .shown_as("NAME");
  options->threads.declare(arguments);
  return [options, arguments](Reporter& reporter) {
    options->method_given = arguments.given("--form") || arguments.given("--serialize");
    return run(*options, reporter);
  };
}

}  // namespace

Verb decompress_verb() {
  return {"decompress", "get a tensor back: .tpz to .npy, raw, NetCDF or HDF5",
          "  tensorpress decompress x.tpz -o y.npy\n"
          "  tensorpress decompress *.tpz -o copies/\n"
          "  tensorpress decompress x.tpz --slice 0:10,...,::2 -o part.npy\n"
          "  tensorpress decompress run.TEMP.tpz -o temp.nc\n"
          "  tensorpress decompress small.nc -o plain.nc\n"
          "  tensorpress decompress - --raw < x.tpz > x.raw",
          "print one JSON object (on stderr if stdout carries the data)", declare};
}

}  // namespace tensorpress::cli
