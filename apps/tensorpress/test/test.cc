// tensorpress test: is a file whole? Every checksum is compared and everything is decoded; nothing
// is written.
#include <algorithm>
#include <limits>
#include <memory>

#include "array_files/array_files.h"
#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/interruption.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/batch.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/progress_bar.h"
#include "command_line/verb.h"
#include "files/bytes/byte_files.h"
#include "files/conventions/hdf5_filter_settings.h"
#include "stream/chunks/chunk_grid.h"
#include "stream/reader.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  ThreadsOption threads;
  bool quiet = false;
};

/// Takes elements and does nothing with them.
class Nowhere : public TensorSink {
 public:
  Result<void> write(const Region& /*region*/, const TensorView& /*elements*/) override {
    return check_interruption();
  }
};

Result<StreamInfo> decode_stream(const Options& options, const std::string& path) {
  ProgressBar bar("testing");
  DecompressOptions read;
  read.threads = options.threads.threads();
  read.max_bytes = std::numeric_limits<std::uint64_t>::max();  // nothing is kept
  read.progress = bar.callback();
  if (is_pipe(path)) {
    const auto input = files::standard_input();
    const auto make_sink = [](const StreamInfo&) -> Result<std::unique_ptr<TensorSink>> {
      return std::unique_ptr<TensorSink>(std::make_unique<Nowhere>());
    };
    return read_sequentially(*input, make_sink, read);
  }
  TRY(const auto source, files::open_bytes(path));
  TRY(const auto reader, StreamReader::open(*source));
  Nowhere nowhere;
  RETURN_IF_ERROR(reader.read_all(nowhere, read));
  return reader.info();
}

Result<FileReport> test_stream(const Options& options, const std::string& path) {
  RETURN_IF_ERROR(check_is_stream(path));
  TRY(const StreamInfo info, decode_stream(options, path));
  FileReport report{.bytes_in = info.bytes_in(), .bytes_out = info.bytes_out};
  report.fields = {{"ok", true},
                   {"chunks", info.chunk_count},
                   {"bytes_in", info.bytes_in()},
                   {"bytes_out", info.bytes_out}};
  const std::string name = is_pipe(path) ? "standard input" : printable(path);
  report.lines =
      text(name, ": ok, ", info.chunk_count, info.chunk_count == 1 ? " chunk, " : " chunks, ",
           human_bytes(info.bytes_in()), "\n");
  return report;
}

bool has_our_filter(const files::NetcdfVariable& variable) {
  return std::ranges::any_of(variable.filters, [](const files::StoredFilter& filter) {
    return filter.id == files::kHdf5FilterId;
  });
}

/// Reads every chunk, each of which carries its own checksums.
Result<void> decode_variable(files::NetcdfFile& file, const files::NetcdfVariable& variable) {
  TRY(const auto source, file.source(variable));
  TRY(const Shape chunk, variable.chunk_extents.size() == source->shape().rank()
                             ? Shape::make(variable.chunk_extents)
                             : Result<Shape>(source->shape()));
  TRY(const auto grid, stream::ChunkGrid::make(source->shape(), chunk));
  AlignedBuffer scratch;
  for (std::uint64_t number = 0; number < grid.chunk_count(); ++number) {
    RETURN_IF_ERROR(check_interruption());
    RETURN_IF_ERROR(source->read(grid.region(number), scratch));
  }
  return {};
}

Result<FileReport> test_variables(const std::string& path) {
  RETURN_IF_ERROR(prepare_for(path));
  TRY(const auto file, files::NetcdfFile::open(path));
  FileReport report;
  Json tested = Json::array();
  for (const auto& variable : file->variables()) {
    if (!has_our_filter(variable)) continue;
    const auto done = decode_variable(*file, variable);
    if (!done.ok())
      return Error{done.error().code, text(variable.path, ": ", done.error().message)};
    TRY(const std::uint64_t stored, file->stored_bytes(variable));
    report.bytes_in += variable.bytes;
    report.bytes_out += stored;
    tested.push_back(variable.path);
  }
  if (tested.empty()) {
    return bad_argument("no variable of it is compressed by tensorpress, so there is nothing to ",
                        "test");
  }
  report.lines = text(printable(path), ": ok, ", tested.size(), " of ", file->variables().size(),
                      " variables carry our filter, ", human_bytes(report.bytes_in), "\n");
  report.fields = {{"ok", true},
                   {"variables", std::move(tested)},
                   {"bytes_in", report.bytes_in},
                   {"bytes_out", report.bytes_out}};
  return report;
}

bool is_damage(const Error& error) {
  return error.code == ErrorCode::corrupt || error.code == ErrorCode::truncated;
}

Result<FileReport> test_one(const Options& options, const std::string& path) {
  RETURN_IF_ERROR(check_exists(path));
  const bool variables = files::array_format_of(path) != files::ArrayFormat::other;
  auto tested = about(path, variables ? test_variables(path) : test_stream(options, path));
  if (tested.ok()) {
    if (options.quiet) tested->lines.clear();
    return tested;
  }
  if (!is_damage(tested.error())) return tested;
  const std::string sentence = sentence_of(tested.error());
  return FileReport{.status = ExitStatus::check_failed,
                    .fields = {{"ok", false}, {"error", sentence}},
                    .remarks = {sentence}};
}

Result<Report> run(const Options& options, Reporter& reporter) {
  RETURN_IF_ERROR(check_several(options.files));
  note_interruptions();
  return work_on_files(options.files, reporter,
                       [&](const std::string& path) { return test_one(options, path); });
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments
      .option("FILE", options->files,
              ".tpz files, and NetCDF and HDF5 files with our filter; - is a .tpz stream on "
              "standard input")
      .required()
      .shown_as("...");
  options->threads.declare(arguments);
  arguments.flag("-q,--quiet", options->quiet, "print nothing about files that are whole");
  return [options](Reporter& reporter) { return run(*options, reporter); };
}

}  // namespace

Verb test_verb() {
  return {"test", "decode everything and compare every checksum; status 1 if a file is damaged",
          "  tensorpress test x.tpz\n"
          "  tensorpress test archive/*.tpz archive/*.nc\n"
          "  tensorpress test - < x.tpz",
          kOneObject, declare};
}

}  // namespace tensorpress::cli
