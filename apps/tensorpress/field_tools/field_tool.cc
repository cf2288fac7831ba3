#include "field_tool.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/interruption.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/stream_report.h"
#include "files/bytes/byte_files.h"
#include "files/bytes/temporary_file.h"
#include "stream/bounds/resolve.h"
#include "stream/reader.h"
#include "tensorpress/streaming.h"
#include "verify/verification.h"

namespace tensorpress::cli {
namespace {

/// Beside the data when that goes to standard output.
Channel channel_of(const FieldFiles& names) {
  return is_pipe(names.compressed) || is_pipe(names.copy) ? Channel::standard_error
                                                          : Channel::standard_output;
}

/// The line that tells about it.
Result<std::string> write_compressed(const FieldFiles& names, const files::RawFormat& format,
                                     const Bound& bound, const std::string& path) {
  TRY(const Codec codec, Codec::make("dense"));
  CompressOptions options;
  options.bound = bound;
  const auto access =
      stream::needs_the_data(codec, options) ? files::Access::random : files::Access::in_order;
  TRY(const auto source, about(names.original, files::open_tensor(names.original, format, access)));
  RETURN_IF_ERROR(check_no_terminal(path));
  const std::string made_from = is_pipe(names.original) ? std::string() : names.original;
  TRY(const auto file, files::AtomicFile::create(path, made_from));
  InterruptibleByteSink sink(*file);
  const auto begin = std::chrono::steady_clock::now();
  TRY(const StreamInfo info, about(names.original, write_stream(codec, *source, sink, options)));
  RETURN_IF_ERROR(check_interruption());
  RETURN_IF_ERROR(file->finish());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return compression_in_one_line(names.original, names.compressed.empty() ? "-" : names.compressed,
                                 info, took.count());
}

/// What was said of the stream's tensor, if anything was, must be so.
Result<void> check_format(const std::optional<files::RawFormat>& format, const StreamInfo& info,
                          std::string_view name) {
  if (!format || (format->shape == info.shape && format->dtype == info.dtype)) return {};
  return bad_argument(name, " holds ", name_of(info.dtype), " of ", info.shape.to_string(),
                      " (slowest axis first), not ", name_of(format->dtype), " of ",
                      format->shape.to_string(), "; leave out type and extents: it knows them");
}

Result<void> write_copy(const FieldFiles& names, const std::optional<files::RawFormat>& format,
                        const std::string& path) {
  RETURN_IF_ERROR(check_no_terminal(names.copy));
  DecompressOptions options;
  options.max_bytes = std::numeric_limits<std::uint64_t>::max();
  std::unique_ptr<files::TensorFile> file;
  if (is_pipe(path)) {
    const auto make_sink = [&](const StreamInfo& info) -> Result<std::unique_ptr<TensorSink>> {
      RETURN_IF_ERROR(check_format(format, info, "the stream"));
      TRY(file, files::create_tensor(names.copy, info.dtype, info.shape, {.raw = true}));
      return std::unique_ptr<TensorSink>(std::make_unique<InterruptibleTensorSink>(*file));
    };
    const auto input = files::standard_input();
    RETURN_IF_ERROR(about(path, read_sequentially(*input, make_sink, options)));
    RETURN_IF_ERROR(check_interruption());
    return file->finish();
  }
  TRY(const auto source, files::open_bytes(path));
  TRY(const auto reader, about(path, StreamReader::open(*source)));
  RETURN_IF_ERROR(check_format(format, reader.info(), path));
  const std::string& made_from = names.compresses() ? names.original : path;
  TRY(file, files::create_tensor(names.copy, reader.info().dtype, reader.info().shape,
                                 {.raw = true, .made_from = is_pipe(made_from) ? "" : made_from}));
  InterruptibleTensorSink sink(*file);
  RETURN_IF_ERROR(about(path, reader.read_all(sink, options)));
  RETURN_IF_ERROR(check_interruption());
  return file->finish();
}

/// What goes into a pipe cannot be read again, and there is one standard output.
Result<void> check_pipes(const FieldFiles& names, bool statistics) {
  if (statistics && (is_pipe(names.original) || is_pipe(names.compressed))) {
    return bad_argument("statistics read both files again and cannot do that with a pipe; name ",
                        "files with -i and -z");
  }
  if (names.compresses() && is_pipe(names.compressed) && !names.copy.empty()) {
    return bad_argument("-o decompresses what -z holds, which cannot be read again from a pipe; ",
                        "name a file with -z");
  }
  return {};
}

}  // namespace

void FieldFiles::declare(Arguments& arguments) {
  arguments
      .option("-i", original,
              "raw file to compress (- is standard input); without it, -z is decompressed")
      .shown_as("RAW");
  arguments
      .option("-z", compressed, "compressed file: a .tpz stream, whatever its name; - is a pipe")
      .shown_as("FILE");
  arguments.option("-o", copy, "raw file to decompress to; - is standard output").shown_as("RAW");
  arguments.flag("-f", f32_, "single precision");
  arguments.flag("-d", f64_, "double precision");
  static constexpr const char* kTexts[] = {"NX", "NX NY", "NX NY NZ", "NX NY NZ NW"};
  for (std::size_t rank = 1; rank <= 4; ++rank) {
    arguments
        .option(text("-", rank), extents_[rank - 1],
                rank == 1 ? "extents, the fastest axis first (the reverse of --shape)" : "the same")
        .values(static_cast<int>(rank), static_cast<int>(rank))
        .shown_as(kTexts[rank - 1]);
  }
  arguments.flag("-q", quiet, "print nothing but errors");
  force.declare(arguments, "--force");
}

Result<std::optional<files::RawFormat>> FieldFiles::format() const {
  const auto given =
      std::ranges::count_if(extents_, [](const auto& each) { return !each.empty(); });
  if (f32_ && f64_) return bad_argument("-f and -d are both given; elements have one type");
  if (given > 1) return bad_argument("extents are given more than once: -1, -2, -3 or -4");
  if (!f32_ && !f64_ && given == 0) return std::optional<files::RawFormat>();
  if (given == 0) return bad_argument("the extents are missing: -1 NX, -2 NX NY, -3 or -4");
  if (!f32_ && !f64_) return bad_argument("the type is missing: -f (single) or -d (double)");
  const auto found = std::ranges::find_if(extents_, [](const auto& each) { return !each.empty(); });
  std::string slowest_first;
  for (auto each = found->rbegin(); each != found->rend(); ++each) {
    slowest_first += text(slowest_first.empty() ? "" : "x", *each);
  }
  TRY(const Shape shape, Shape::parse(slowest_first));
  return std::optional(files::RawFormat{.shape = shape, .dtype = f64_ ? DType::f64 : DType::f32});
}

Result<Report> run_field_tool(const FieldFiles& names, const std::optional<Bound>& bound,
                              const char* ways_to_bound, bool statistics, Reporter& reporter) {
  TRY(const auto format, names.format());
  if (!names.compresses() && (names.compressed.empty() || names.copy.empty())) {
    return bad_argument("nothing to do: -i RAW -z FILE compresses, -z FILE -o RAW decompresses");
  }
  if (names.compresses() && names.compressed.empty() && names.copy.empty() && !statistics) {
    return bad_argument("nowhere to write to: name the compressed file with -z");
  }
  if (statistics && !names.compresses()) {
    return bad_argument("statistics need the original: name it with -i");
  }
  RETURN_IF_ERROR(check_pipes(names, statistics));
  if (names.compresses()) {
    RETURN_IF_ERROR(names.force.check({names.original}, names.compressed, "-z"));
  }
  RETURN_IF_ERROR(names.force.check({names.original, names.compressed}, names.copy));
  if (!names.compresses()) {
    note_interruptions();
    RETURN_IF_ERROR(write_copy(names, format, names.compressed));
    return Report{};
  }
  if (is_npy_file(names.original)) {
    return bad_argument("'", names.original, "' is a .npy file, and -i takes raw numbers; ",
                        "tensorpress compress takes .npy files as they are");
  }
  if (!format)
    return bad_argument("type and extents of ", names.original,
                        " are missing: -f or -d, and -1 to -4");
  if (!bound) return bad_argument("how close the copy must be is missing: ", ways_to_bound);
  note_interruptions();
  std::string path = names.compressed;
  std::optional<files::TemporaryFile> unnamed;
  if (path.empty()) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no code of ours sets the environment.
    const char* const folder = std::getenv("TMPDIR");
    const std::string directory = folder != nullptr && *folder != '\0' ? folder : "/tmp";
    TRY(auto made,
        files::TemporaryFile::create(directory, 0600, files::TemporaryFile::Kind::named));
    path = text(directory, "/", made.name());
    unnamed.emplace(std::move(made));
  }
  TRY(const std::string line, write_compressed(names, *format, *bound, path));
  if (!names.quiet) reporter.show(line, channel_of(names));
  if (!names.copy.empty()) RETURN_IF_ERROR(write_copy(names, format, path));
  if (!statistics) return Report{};
  TRY(const Verification verification, verify_stream(names.original, format, path, 1));
  Report report{.text = verification.fields.to_text(), .to = channel_of(names)};
  if (!verification.ok) {
    report.remarks.push_back(text(path, ": ", verification.reason));
    report.status = ExitStatus::check_failed;
  }
  return report;
}

}  // namespace tensorpress::cli
