// tensorpress-mpi decompress: every rank decodes its share of the chunks and writes their elements
// where they belong.
#include <chrono>
#include <limits>
#include <memory>

#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/inputs/tensor_name.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/stream_report.h"
#include "crew.h"
#include "files/bytes/byte_files.h"
#include "files/tensor/npy.h"
#include "files/tensor/region_runs.h"
#include "in_step.h"
#include "shared_output.h"
#include "stream/reader.h"

namespace tensorpress::mpi {
namespace {

struct Options {
  std::string input;
  std::string output;
  cli::ForceOption force;
  bool raw = false;
  cli::ThreadsOption threads;
};

/// Elements in C order, behind a header.
class SharedTensor : public TensorSink {
 public:
  SharedTensor(SharedOutput& output, const Shape& shape, std::uint64_t header_bytes)
      : output_(output), shape_(shape), header_bytes_(header_bytes) {}

  Result<void> write(const Region& region, const TensorView& elements) override {
    const std::size_t element = size_of(elements.dtype);
    const files::RegionRuns runs(shape_, region);
    const std::span bytes(elements.data, static_cast<std::size_t>(elements.byte_count()));
    ENSURE(elements.is_contiguous());
    std::size_t done = 0;
    return runs.for_each([&](std::uint64_t first) {
      const auto run = bytes.subspan(done, static_cast<std::size_t>(runs.run() * element));
      done += run.size();
      return output_.write_at(header_bytes_ + first * element, run);
    });
  }

 private:
  SharedOutput& output_;
  Shape shape_;
  std::uint64_t header_bytes_;
};

struct OpenStream {
  std::string output;
  cli::TensorFormat format;
  std::unique_ptr<ByteSource> source;
  StreamReader reader;
};

Result<OpenStream> open_stream(const Options& options) {
  RETURN_IF_ERROR(cli::check_is_stream(options.input));
  std::string path = options.output.empty()
                         ? cli::default_output(options.input, options.raw ? ".raw" : ".npy")
                         : options.output;
  RETURN_IF_ERROR(check_files(options.input, path, options.force));
  TRY(const auto format, cli::format_of_output(path, options.raw));
  if (format == cli::TensorFormat::array) {
    return bad_argument("'", path, "' would be a NetCDF or HDF5 file, which many processes do not ",
                        "write here; tensorpress decompress does, or name a .npy");
  }
  TRY(auto source, files::open_bytes(options.input));
  TRY(auto reader, cli::about(options.input, StreamReader::open(*source)));
  if (!options.raw) RETURN_IF_ERROR(cli::check_type_in_name(path, reader.info().dtype));
  return OpenStream{std::move(path), format, std::move(source), std::move(reader)};
}

Result<StreamInfo> decompress(const Crew& crew, const Options& options) {
  TRY(const OpenStream opened, crew.together([&] { return open_stream(options); }));
  const std::string& path = opened.output;
  const StreamInfo& info = opened.reader.info();
  RETURN_IF_ERROR(crew.check_same("stream", text(name_of(info.dtype), " ", info.shape.to_string(),
                                                 " in ", info.bytes_out, " bytes")));
  std::string header;
  if (opened.format == cli::TensorFormat::npy) header = files::npy_header(info.dtype, info.shape);

  TRY(const auto output, SharedOutput::create(crew, path, options.input));
  SharedTensor tensor(*output, info.shape, header.size());
  DecompressOptions read;
  read.threads = options.threads.threads();
  read.max_bytes = std::numeric_limits<std::uint64_t>::max();  // nothing is kept in memory
  const auto decode_share = [&]() -> Result<void> {
    if (crew.is_first()) {
      RETURN_IF_ERROR(output->write_at(0, std::as_bytes(std::span(header))));
    }
    const Share mine = crew.share_of(info.chunk_count);
    return cli::about(options.input,
                      opened.reader.read_chunks(mine.begin, mine.count(), tensor, read));
  };
  RETURN_IF_ERROR(crew.together(decode_share));
  RETURN_IF_ERROR(output->finish(header.size() + info.bytes_in()));
  return info;
}

Result<cli::Report> run(const Options& options) {
  const Crew crew;
  const auto begin = std::chrono::steady_clock::now();
  TRY(const StreamInfo info, decompress(crew, options));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  cli::Json fields = cli::describe(info).to_json();
  fields["ranks"] = crew.size();
  fields["seconds"] = took.count();
  fields["decompress_gb_per_s"] = cli::gb_per_s(info.bytes_in(), took.count());
  return cli::Report{.json = cli::json_text(fields)};
}

cli::Action declare(cli::Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("IN", options->input, ".tpz file").required().shown_as(" ");
  arguments.option("-o,--output", options->output, "output file: .npy, or raw numbers as .raw")
      .shown_as("OUT (IN with .npy)");
  options->force.declare(arguments);
  arguments.flag("--raw", options->raw,
                 "write elements only, little-endian, in C order, under any name");
  options->threads.declare(arguments, 1);
  return [options](cli::Reporter&) { return in_step([&] { return run(*options); }); };
}

}  // namespace

cli::Verb decompress_verb() {
  return {"decompress", "get a tensor back: .tpz to .npy or raw",
          "  mpirun -n 4 tensorpress-mpi decompress x.tpz -o y.npy\n"
          "  tensorpress decompress has more: --slice, --skip-corrupt and pipes",
          cli::kOneObject, declare};
}

}  // namespace tensorpress::mpi
