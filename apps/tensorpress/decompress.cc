// tensorpress decompress: a .tpz stream from a file or pipe becomes a .npy, raw, NetCDF or HDF5
// file.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include "base/errors.h"
#include "base/region.h"
#include "files/byte_files.h"
#include "files/netcdf_file.h"
#include "files/tensor_files.h"
#include "interruption.h"
#include "messages.h"
#include "paths.h"
#include "progress_bar.h"
#include "stream/history.h"
#include "stream/reader.h"
#include "stream_file.h"
#include "stream_report.h"
#include "tensor_options.h"
#include "whole_files.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::string input;
  std::string output;
  bool raw = false;
  bool skip_corrupt = false;
  std::string slice;
  std::string form = "block";
  int serialize = 1;
  bool method_given = false;
  ThreadsOption threads;
  bool json = false;
};

/// Names and coordinates of the axes that a slice keeps.
files::NetcdfNotes notes_of_part(files::NetcdfNotes notes, const Slice& slice) {
  if (notes.dimensions.size() != slice.region.extent.rank()) return notes;  // told when it is made
  std::vector<std::string> kept;
  for (std::size_t axis = 0; axis < notes.dimensions.size(); ++axis) {
    const std::string& name = notes.dimensions[axis];
    const auto coordinate =
        std::ranges::find(notes.coordinates, name, &files::NetcdfCoordinate::name);
    if (coordinate != notes.coordinates.end()) {
      const std::uint64_t size = size_of(coordinate->values.type);
      const std::uint64_t first = slice.region.origin[axis] * size;
      const std::uint64_t count = slice.region.extent[axis] * size;
      auto& bytes = coordinate->values.bytes;
      if (first + count <= bytes.size()) {
        bytes = {bytes.begin() + static_cast<std::ptrdiff_t>(first),
                 bytes.begin() + static_cast<std::ptrdiff_t>(first + count)};
      }
    }
    if (!slice.dropped[axis]) kept.push_back(name);
  }
  notes.dimensions = std::move(kept);
  return notes;
}

/// How far values may be from those that were compressed, where the stream says so. The limit of a
/// point-wise bound is a share of each value and no error.
std::optional<double> promised_error(const StreamInfo& info) {
  const std::string limit(info.codec.parameter("limit"));
  if (limit.empty() || info.codec.parameter("bound").starts_with("pw-rel")) return std::nullopt;
  return std::strtod(limit.c_str(), nullptr);
}

/// The output file, made when the stream's shape is known.
class Output {
 public:
  Output(std::string path, bool raw, bool method_given)
      : path_(std::move(path)), raw_(raw), method_given_(method_given) {}

  /// `slice` when it is a part of the stream's tensor.
  Result<stream::TensorSink*> create(const StreamInfo& info, const Slice* slice = nullptr) {
    if (method_given_ && info.codec.name() != "dct-chop") {
      return bad_argument("it is of codec ", info.codec.name(),
                          "; --form and --serialize are for dct-chop");
    }
    const Shape shape = slice != nullptr ? slice->shape() : info.shape;
    if (raw_ || !files::is_array_file_name(path_)) {
      TRY(file_, files::create_tensor(path_, info.dtype, shape, raw_));
      return file_.get();
    }
    TRY(auto notes, files::netcdf_notes(info.attributes));
    if (notes && slice != nullptr) notes = notes_of_part(*notes, *slice);
    TRY(stream::History history, stream::history_with(info));
    TRY(file_, files::create_netcdf_tensor(path_, info.dtype, shape, notes, promised_error(info),
                                           history));
    return file_.get();
  }
  Result<void> finish() { return file_->finish(); }
  std::vector<std::string> remarks() const { return file_->remarks(); }

 private:
  std::string path_;
  bool raw_;
  bool method_given_;
  std::unique_ptr<files::TensorFile> file_;
};

/// Regions of a sliced tensor as regions of the result, which lacks the axes given by an index.
class WithoutDroppedAxes : public stream::TensorSink {
 public:
  WithoutDroppedAxes(const Slice& slice, stream::TensorSink& sink) : slice_(slice), sink_(sink) {}
  Result<void> write(const Region& region, const TensorView& elements) override {
    TensorView kept = elements;
    const Region target = slice_.without_dropped(region);
    kept.shape = target.extent;
    std::size_t axis = 0;
    for (std::size_t i = 0; i < elements.shape.rank(); ++i) {
      if (!slice_.dropped[i]) kept.strides[axis++] = elements.strides[i];
    }
    return sink_.write(target, kept);
  }

 private:
  const Slice& slice_;
  stream::TensorSink& sink_;
};

Result<void> read_slice(const stream::StreamReader& reader, const std::string& text, Output& output,
                        const stream::ReadOptions& options) {
  TRY(const Slice slice, parse_slice(text, reader.info().shape));
  TRY(stream::TensorSink* const file, output.create(reader.info(), &slice));
  InterruptibleTensorSink sink(*file);
  WithoutDroppedAxes kept(slice, sink);
  return reader.read_region(slice.region, kept, options);
}

Result<StreamInfo> read_file(const std::string& path, const std::string& slice, Output& output,
                             const stream::ReadOptions& options) {
  TRY(const auto source, files::open_bytes(path));
  auto opened = stream::StreamReader::open(*source);
  if (!opened.ok() && options.skip_corrupt) {
    print_message(
        text(path, ": its chunks are looked for one by one, because ", opened.error().message));
    opened = stream::StreamReader::open_without_footer(*source);
  }
  TRY(const auto reader, std::move(opened));
  const auto read_all = [&]() -> Result<void> {
    TRY(stream::TensorSink* const file, output.create(reader.info()));
    InterruptibleTensorSink sink(*file);
    return reader.read_all(sink, options);
  };
  auto done = slice.empty() ? read_all() : read_slice(reader, slice, output, options);
  if (!done.ok() && done.error().code == ErrorCode::corrupt) {
    return corrupt(done.error().message, "; --skip-corrupt gets the other chunks");
  }
  RETURN_IF_ERROR(std::move(done));
  return reader.info();
}

Result<StreamInfo> read_pipe(Output& output, const stream::ReadOptions& options) {
  const auto input = files::standard_input();
  const auto make_sink =
      [&](const StreamInfo& info) -> Result<std::unique_ptr<stream::TensorSink>> {
    TRY(stream::TensorSink* const file, output.create(info));
    return std::unique_ptr<stream::TensorSink>(std::make_unique<InterruptibleTensorSink>(*file));
  };
  return stream::read_sequentially(*input, make_sink, options);
}

/// Everything from opening the stream to the finished output file.
Result<StreamInfo> write_output(const Options& options, Output& output, stream::ReadOptions read) {
  note_interruptions();
  ProgressBar bar("decompressing");
  read.progress = bar.callback();
  TRY(StreamInfo info,
      about(options.input, is_pipe(options.input)
                               ? read_pipe(output, read)
                               : read_file(options.input, options.slice, output, read)));
  RETURN_IF_ERROR(output.finish());
  return info;
}

/// The way to compute, checked by the one codec that has a choice.
Result<std::vector<Parameter>> method_of(const Options& options) {
  std::vector<Parameter> method = {{"form", options.form}, {"serialize", text(options.serialize)}};
  TRY(const Codec checked, Codec::make("dct-chop", method));
  return method;
}

Result<ExitStatus> run(const Options& options) {
  stream::ReadOptions read;
  TRY(read.method, method_of(options));
  if (files::array_format_of(options.input) != files::ArrayFormat::other) {
    if (!options.slice.empty() || options.raw || options.skip_corrupt || options.method_given) {
      return bad_argument(
          "--slice, --raw, --skip-corrupt, --form and --serialize are for .tpz files, and '",
          options.input, "' is a NetCDF or HDF5 file");
    }
    return restore_whole_file({.input = options.input,
                               .output = options.output,
                               .threads = options.threads.threads(),
                               .json = options.json});
  }
  RETURN_IF_ERROR(check_is_stream(options.input));
  TRY(const std::string path,
      output_of_copy(options.input, options.output, options.raw ? ".raw" : ".npy"));
  RETURN_IF_ERROR(check_output(options.input, path));
  if (!options.slice.empty() && is_pipe(options.input)) {
    return bad_argument("--slice reads only the chunks it needs, which a pipe does not allow");
  }

  std::uint64_t skipped = 0;
  read.threads = options.threads.threads();
  // The output goes to disk chunk by chunk; nothing is allocated on the stream's word.
  read.max_bytes = std::numeric_limits<std::uint64_t>::max();
  if (options.skip_corrupt) {
    read.skip_corrupt = [&](std::uint64_t chunk, const Error& error) {
      ++skipped;
      print_message(text(options.input, ": chunk ", chunk,
                         " is left out, its elements are zero: ", error.message));
    };
  }

  const auto begin = std::chrono::steady_clock::now();
  Output output(path, options.raw, options.method_given);
  TRY(const StreamInfo info, write_output(options, output, read));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  for (const std::string& remark : output.remarks()) print_message(text(path, ": ", remark));

  if (options.json) {
    Json fields = describe(info);
    fields["skipped_chunks"] = skipped;
    fields["seconds"] = took.count();
    fields["decompress_gb_per_s"] = gb_per_s(info.bytes_in(), took.count());
    print_json(fields, is_pipe(path) ? stderr : stdout);
  }
  // What a stream has no statistics of was read without its footer.
  const bool damaged = skipped > 0 || (options.skip_corrupt && info.statistics.empty());
  return damaged ? ExitStatus::check_failed : ExitStatus::fine;
}

Action declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("IN", options->input,
                 ".tpz file; - is standard input. Or a NetCDF or HDF5 file that compress wrote: a "
                 "copy without our filter")
      ->required()
      ->option_text(" ");
  app.add_option(
         "-o,--output", options->output,
         "where to: .npy, .nc or .h5 (with its name, attributes and coordinates), anything else is "
         "raw; - is standard output as .npy. A file that is there is replaced if it is named here")
      ->option_text("OUT (IN with .npy)");
  app.add_flag("--raw", options->raw, "write elements only, little-endian, in C order");
  app.add_option("--slice", options->slice, "only this part, as in NumPy: START:STOP for each axis")
      ->option_text("0:10,:,50:100");
  app.add_flag("--skip-corrupt", options->skip_corrupt,
               "leave out chunks that cannot be read, with a warning each; status 1 if any");
  app.add_option("--form", options->form,
                 "dct-chop: the fast block kernel, or the paper's two dense products")
      ->option_text("block|matmul (block)");
  app.add_option("--serialize", options->serialize, "with --form matmul: s x s parts of a plane")
      ->option_text("1..64 (1)");
  options->threads.declare(app);
  app.add_flag("--json", options->json,
               "print one JSON object (on stderr if stdout carries the data)");
  return [options, &app] {
    options->method_given = app.count("--form") + app.count("--serialize") > 0;
    return run(*options);
  };
}

}  // namespace

Verb decompress_verb() {
  return {"decompress", "get a tensor back: .tpz to .npy, raw, NetCDF or HDF5",
          "  tensorpress decompress x.tpz -o y.npy\n"
          "  tensorpress decompress x.tpz --slice 0:10,:,50:100 -o part.npy\n"
          "  tensorpress decompress run.TEMP.tpz -o temp.nc\n"
          "  tensorpress decompress small.nc -o plain.nc\n"
          "  tensorpress decompress - --raw < x.tpz > x.raw",
          declare};
}

}  // namespace tensorpress::cli
