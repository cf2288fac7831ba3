// tensorpress-mpi compress. Chunks are compressed in waves: in each, every rank takes a row of
// consecutive chunks, learns from MPI_Exscan where its records begin, and writes them there. A
// wave is as large as memory allows, so ranks wait for each other rarely.
#include <algorithm>
#include <chrono>
#include <climits>
#include <memory>
#include <optional>

#include "base/cpu.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/inputs/stream_names.h"
#include "command_line/inputs/variable_source.h"
#include "command_line/options/bound_options.h"
#include "command_line/options/codec_options.h"
#include "command_line/options/stream_options.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/stream_report.h"
#include "crew_look.h"
#include "files/conventions/hdf5_register.h"
#include "files/netcdf/file.h"
#include "files/tensor/tensor_files.h"
#include "filter.h"
#include "in_step.h"
#include "shared_output.h"
#include "stream/chunks/chunk_decoder.h"
#include "stream/chunks/record_compressor.h"

namespace tensorpress::mpi {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

struct Options {
  std::string input;
  std::string output;
  std::string variable;
  cli::ForceOption force;
  cli::CodecOptions codec;
  cli::BoundOptions bound;
  cli::RawFormatOptions raw;
  cli::StreamOptions stream;
  cli::ThreadsOption threads;
  std::uint64_t memory_mebibytes = 64;
};

using stream::compact::ChunkOutline;
using stream::compact::ShortPayload;

class ParallelWriter {
 public:
  ParallelWriter(const Crew& crew, const stream::StreamPlan& plan, std::span<const ChunkHint> hints,
                 TensorSource& source, SharedOutput& output, const stream::Execution& execution,
                 std::uint64_t wave_bytes)
      : crew_(crew),
        plan_(plan),
        output_(output),
        wave_bytes_(wave_bytes),
        records_(plan, hints, source, execution),
        totals_(plan.opening.size()) {}

  /// What was written; the first rank knows the sizes and statistics.
  Result<StreamInfo> write() {
    RETURN_IF_ERROR(crew_.first_alone([&] { return output_.write_at(0, plan_.opening); }));
    const std::uint64_t count = plan_.grid.chunk_count();
    std::uint64_t offset = plan_.opening.size();
    if (count > 0) {
      const auto ranks = static_cast<std::uint64_t>(crew_.size());
      const std::uint64_t waves =
          (count + ranks * chunks_at_once() - 1) / (ranks * chunks_at_once());
      for (std::uint64_t number = 0; number < waves; ++number) {
        TRY(offset, write_wave(share_of(count, number, waves), offset));
      }
    }
    return finish(offset);
  }

 private:
  std::uint64_t record_bound() const {
    return stream::compact::kMaxRecordHeadBytes + 8 +
           plan_.codec->bound_on_output_size(plan_.grid.region(0).extent, plan_.header.dtype);
  }
  std::uint64_t chunks_at_once() const {
    return std::max<std::uint64_t>(wave_bytes_ / record_bound(), 1);
  }

  // Returns where the wave ends.
  Result<std::uint64_t> write_wave(const Share& wave, std::uint64_t offset) {
    const Share mine = crew_.share_of(wave.count());
    std::vector<ChunkOutline> chunks;
    RETURN_IF_ERROR(crew_.together([&]() -> Result<void> {
      const auto room = wave_.reserve(static_cast<std::size_t>(mine.count() * record_bound()));
      used_ = 0;
      first_short_.reset();
      repeats_ = {};
      return records_.compress(
          wave.begin + mine.begin, mine.count(), [&] { return room.subspan(used_); },
          [&](std::uint64_t, const CompressedChunk& chunk, std::span<const std::byte> record) {
            chunks.push_back(ChunkOutline::of_record(chunk, record));
            const auto payload = chunks.back().short_payload();
            keep(room, repeats_.is_repeat(payload) ? stream::repeat_record() : record, payload);
            return Result<void>();
          });
    }));
    repeat_across_ranks();
    const std::uint64_t place = offset + crew_.sum_before(used_);
    RETURN_IF_ERROR(crew_.together([&] { return output_.write_at(place, wave_.reserve(used_)); }));
    for (const auto& chunk : crew_.gather_to_first(std::span<const ChunkOutline>(chunks))) {
      totals_.add(chunk);
    }
    return offset + crew_.sum(used_);
  }

  void keep(std::span<std::byte> room, std::span<const std::byte> record,
            const std::optional<ShortPayload>& payload) {
    if (payload && !first_short_) first_short_ = {*payload, used_, record.size()};
    if (record.data() != room.data() + used_) {
      std::ranges::copy(record, room.begin() + static_cast<std::ptrdiff_t>(used_));
    }
    used_ += record.size();
  }

  // Of a rank's records only the first short one depends on other ranks: it may repeat what is the
  // last short one before. Then its record shrinks to one byte.
  void repeat_across_ranks() {
    const ChunkOutline mine{.chunk = {},
                            .payload = repeats_.last().value_or(ShortPayload()),
                            .is_short = repeats_.last().has_value()};
    const auto last = crew_.gather(std::span(&mine, 1));
    const auto before = static_cast<std::size_t>(crew_.rank());
    std::optional<ShortPayload> known = last_short_;
    for (std::size_t rank = 0; rank < last.size(); ++rank) {
      if (rank == before && first_short_ && known == first_short_->payload) shrink(*first_short_);
      if (last[rank].is_short) known = last[rank].payload;
    }
    last_short_ = known;
  }

  struct FirstShort {
    ShortPayload payload;
    std::size_t at = 0;
    std::size_t size = 0;
  };
  void shrink(const FirstShort& record) {
    const auto bytes = wave_.reserve(used_).subspan(record.at);
    bytes[0] = stream::repeat_record()[0];
    std::ranges::copy(bytes.subspan(record.size), bytes.begin() + 1);
    used_ -= record.size - 1;
  }

  Result<StreamInfo> finish(std::uint64_t offset) {
    StreamInfo info = stream::info_of(plan_.header, plan_.grid);
    RETURN_IF_ERROR(crew_.first_alone([&]() -> Result<void> {
      ENSURE(totals_.offset() == offset);
      info.payload_bytes = totals_.payload_bytes();
      TRY(stream::Closing closing, std::move(totals_).close());
      info.statistics = std::move(closing.statistics);
      info.bytes_out = offset + closing.bytes.size();
      return output_.write_at(offset, closing.bytes);
    }));
    RETURN_IF_ERROR(output_.finish(info.bytes_out));
    return info;
  }

  const Crew& crew_;
  const stream::StreamPlan& plan_;
  SharedOutput& output_;
  std::uint64_t wave_bytes_;  // what a rank holds of one wave, as long as one chunk fits
  stream::RecordCompressor records_;
  stream::StreamTotals totals_;
  AlignedBuffer wave_;                      // this rank's records of one wave:
  std::size_t used_ = 0;                    // how many bytes they have
  std::optional<FirstShort> first_short_;   // which of them others may have before
  stream::compact::Repeats repeats_;        // among them
  std::optional<ShortPayload> last_short_;  // of all ranks, before the wave
};

struct OpenInput {
  std::unique_ptr<files::NetcdfFile> file;  // of a variable
  std::unique_ptr<TensorSource> source;
  std::string remark = {};
};

/// The variable that was asked for, or the only one that is data.
Result<const files::NetcdfVariable*> find_variable(const files::NetcdfFile& file,
                                                   const std::string& name) {
  if (!name.empty()) return file.find(name);
  const files::NetcdfVariable* only = nullptr;
  std::string listed;
  for (const auto& variable : file.variables()) {
    if (variable.coordinate || !variable.refusal.empty()) continue;
    listed += text(listed.empty() ? "" : ", ", variable.path);
    if (only != nullptr) continue;
    only = &variable;
  }
  if (only == nullptr) return bad_argument("no variable can be compressed");
  if (listed != only->path) {
    return bad_argument("it has several variables: ", listed, "; choose with --var NAME");
  }
  return only;
}

/// A tensor in a file of its own, or a variable, whose attributes and fill values `write` gets.
Result<OpenInput> open_input(const Options& options, CompressOptions& write) {
  TRY(const auto raw, options.raw.format_of(options.input));
  OpenInput opened;
  const auto format = files::array_format_of(options.input);
  if (raw || format == files::ArrayFormat::other) {
    if (!options.variable.empty()) {
      return bad_argument("--var names a variable of a NetCDF or HDF5 file, and '", options.input,
                          "' is neither");
    }
    TRY(opened.source, files::open_tensor(options.input, raw));
    return opened;
  }
  if (format == files::ArrayFormat::hdf5) {
    RETURN_IF_ERROR(files::register_hdf5_filter(&hdf5::kFilterClass));
  }
  TRY(opened.file, files::NetcdfFile::open(options.input));
  TRY(const auto* const variable, find_variable(*opened.file, options.variable));
  TRY(auto source,
      cli::open_variable(*opened.file, *variable,
                         {.from_here_name = "tensorpress compress --from-here"}, write));
  opened.source = std::move(source.source);
  opened.remark = std::move(source.remark);
  return opened;
}

Result<StreamInfo> compress(const Crew& crew, const Options& options, const std::string& path,
                            cli::Reporter& reporter) {
  TRY(const Codec codec, crew.together([&] { return options.codec.codec(); }));
  TRY(CompressOptions write, options.bound.options());
  write.threads = options.threads.threads();
  RETURN_IF_ERROR(options.stream.apply_to(write));
  RETURN_IF_ERROR(options.bound.check_for(codec));
  TRY(const auto execution, crew.together([&] { return stream::Execution::of(write); }));
  TRY(const OpenInput opened, crew.together([&]() -> Result<OpenInput> {
    RETURN_IF_ERROR(check_files(options.input, path, options.force));
    RETURN_IF_ERROR(cli::check_stream_name(path));
    return cli::about(options.input, open_input(options, write));
  }));
  const auto& source = opened.source;
  if (!opened.remark.empty()) reporter.remark(text(options.input, ": ", opened.remark));
  RETURN_IF_ERROR(
      crew.check_same("tensor", text(name_of(source->dtype()), " ", source->shape().to_string())));

  CrewLook look(crew, *source, execution);
  TRY(const auto resolved,
      cli::about(options.input, stream::resolve_codec(codec, *source, write, look)));
  TRY(const auto plan,
      cli::about(options.input,
                 stream::plan_stream(resolved.codec, source->dtype(), source->shape(),
                                     write.chunk_shape, write.attributes, write.fill_values)));
  if (plan.grid.chunk_count() > INT_MAX) {
    return too_large("chunks of ", plan.grid.chunk_shape().to_string(), " make ",
                     plan.grid.chunk_count(), " of them, too many; name larger ones");
  }
  TRY(const auto output, SharedOutput::create(crew, path, options.input));
  TRY(StreamInfo info, ParallelWriter(crew, plan, resolved.hints, *source, *output, execution,
                                      options.memory_mebibytes * kMebibyte)
                           .write());
  info.attributes = write.attributes;
  return info;
}

Result<cli::Report> run(const Options& options, cli::Reporter& reporter) {
  const Crew crew;
  const std::string output =
      options.output.empty()
          ? cli::default_output(options.input, cli::stream_extension(options.variable))
          : options.output;
  const auto begin = std::chrono::steady_clock::now();
  TRY(const StreamInfo info, compress(crew, options, output, reporter));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;

  cli::Json fields = cli::describe(info).to_json();
  fields["ranks"] = crew.size();
  fields["seconds"] = took.count();
  fields["compress_gb_per_s"] = cli::gb_per_s(info.bytes_in(), took.count());
  cli::Report report{
      .text = cli::compression_in_one_line(options.input, output, info, took.count()),
      .json = cli::json_text(fields)};
  if (std::string remark = cli::remark_on_raw_chunks(info); !remark.empty()) {
    report.remarks.push_back(std::move(remark));
  }
  return report;
}

cli::Action declare(cli::Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("IN", options->input, ".npy, raw, NetCDF or HDF5 file to compress")
      .required()
      .shown_as(" ");
  arguments.option("-o,--output", options->output, "output file").shown_as("OUT (IN with .tpz)");
  options->force.declare(arguments);
  arguments
      .option("--var", options->variable,
              "variable of a NetCDF or HDF5 file (GROUP/NAME); the only one if absent")
      .shown_as("NAME");
  options->bound.declare(arguments);
  options->codec.declare(arguments);
  options->raw.declare(arguments);
  options->threads.declare(arguments, 1);
  options->stream.declare(arguments);
  arguments
      .option("--memory", options->memory_mebibytes,
              "how much of its finished chunks a rank holds before it writes; the bytes are the "
              "same")
      .count_between(1, std::uint64_t{1} << 20)
      .shown_as("MIB (64)");
  return [options](cli::Reporter& reporter) {
    return in_step([&] { return run(*options, reporter); });
  };
}

}  // namespace

cli::Verb compress_verb() {
  return {"compress", "make a tensor smaller: .npy, raw, NetCDF or HDF5 to .tpz",
          "  mpirun -n 4 tensorpress-mpi compress x.npy --rel 1e-4 -o x.tpz\n"
          "  mpirun -n 4 tensorpress-mpi compress field.raw --shape 20x180x360 --dtype f32 --abs "
          "0.01\n"
          "  mpirun -n 4 tensorpress-mpi compress run.nc --var TEMP --rel 1e-4 -o temp.tpz",
          cli::kOneObject, declare};
}

}  // namespace tensorpress::mpi
