// tensorpress-mpi compress. Chunks are compressed in waves: in each, every rank takes a row of
// consecutive chunks, tells the others how long its records are, and learns from what they tell
// where to write them. It does so while the next wave is compressed, so that a rank that is slower
// for a moment keeps none waiting.
#include <algorithm>
#include <array>
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

/// What ranks tell each other of a wave: sizes, and what decides which records are repeats.
struct WaveOutline {
  std::uint64_t bytes = 0;             // of this rank's records
  std::uint64_t first_short_size = 0;  // of the first record with a short payload; 0: there is none
  ShortPayload first_short;
  ShortPayload last_short;
  bool failed = false;
};

/// This rank's part of a wave.
struct Wave {
  AlignedBuffer memory;
  std::span<std::byte> room;
  std::size_t first_short_at = 0;
  WaveOutline outline;
  Result<void> done;
};

class ParallelWriter {
 public:
  ParallelWriter(const Crew& crew, const stream::StreamPlan& plan, std::span<const ChunkHint> hints,
                 TensorSource& source, SharedOutput& output, const stream::Execution& execution,
                 std::uint64_t memory_bytes)
      : crew_(crew),
        plan_(plan),
        output_(output),
        wave_bytes_(memory_bytes / waves_.size()),
        records_(plan, hints, source, execution),
        offset_(plan.opening.size()) {}

  /// What was written; the first rank knows the sizes and statistics.
  Result<StreamInfo> write() {
    RETURN_IF_ERROR(crew_.first_alone([&] { return output_.write_at(0, plan_.opening); }));
    const std::uint64_t count = wave_count();
    std::optional<Crew::Exchange<WaveOutline>> exchange;
    for (std::uint64_t number = 0; number <= count; ++number) {
      Wave& wave = waves_[static_cast<std::size_t>(number % waves_.size())];
      if (number < count) compress(number, wave);
      if (exchange) {
        RETURN_IF_ERROR(settle(waves_[static_cast<std::size_t>((number - 1) % waves_.size())],
                               exchange->wait()));
        exchange.reset();
      }
      if (number < count) {
        wave.outline.failed = !wave.done.ok() || !written_.ok();
        exchange.emplace(crew_, wave.outline);
      }
    }
    RETURN_IF_ERROR(crew_.agree(written_));
    return finish();
  }

 private:
  std::uint64_t record_bound() const {
    return stream::compact::kMaxRecordHeadBytes + 8 +
           plan_.codec->bound_on_output_size(plan_.grid.region(0).extent, plan_.header.dtype);
  }
  std::uint64_t wave_count() const {
    const std::uint64_t count = plan_.grid.chunk_count();
    if (count == 0) return 0;
    const std::uint64_t chunks = std::max<std::uint64_t>(wave_bytes_ / record_bound(), 1) *
                                 static_cast<std::uint64_t>(crew_.size());
    return (count + chunks - 1) / chunks;
  }
  Share wave_share(std::uint64_t number) const {
    return share_of(plan_.grid.chunk_count(), number, wave_count());
  }

  // Communicates with nobody.
  void compress(std::uint64_t number, Wave& wave) {
    const Share all = wave_share(number);
    const Share mine = crew_.share_of(all.count());
    wave.outline = {};
    wave.done = Crew::attempt([&]() -> Result<void> {
      wave.room = wave.memory.reserve(static_cast<std::size_t>(mine.count() * record_bound()));
      stream::compact::Repeats repeats;
      return records_.compress(
          all.begin + mine.begin, mine.count(), [&] { return wave.room.subspan(used(wave)); },
          [&](std::uint64_t, const CompressedChunk& chunk, std::span<const std::byte> record) {
            chunks_.push_back(ChunkOutline::of_record(chunk, record));
            const auto payload = chunks_.back().short_payload();
            keep(wave, repeats.is_repeat(payload) ? stream::repeat_record() : record, payload);
            return Result<void>();
          });
    });
  }

  static std::size_t used(const Wave& wave) { return static_cast<std::size_t>(wave.outline.bytes); }

  static void keep(Wave& wave, std::span<const std::byte> record,
                   const std::optional<ShortPayload>& payload) {
    const std::size_t at = used(wave);
    if (payload) {
      if (wave.outline.first_short_size == 0) {
        wave.first_short_at = at;
        wave.outline.first_short_size = record.size();
        wave.outline.first_short = *payload;
      }
      wave.outline.last_short = *payload;
    }
    if (record.data() != wave.room.data() + at) {
      std::ranges::copy(record, wave.room.begin() + static_cast<std::ptrdiff_t>(at));
    }
    wave.outline.bytes += record.size();
  }

  // Of a rank's records only the first short one depends on other ranks: it may repeat what is the
  // last short one before. Then its record shrinks to one byte.
  Result<void> settle(Wave& wave, std::span<const WaveOutline> ranks) {
    if (std::ranges::any_of(ranks, &WaveOutline::failed)) {
      RETURN_IF_ERROR(crew_.agree(wave.done));
      RETURN_IF_ERROR(crew_.agree(written_));
    }
    std::uint64_t place = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const WaveOutline& outline = ranks[rank];
      const bool is_mine = rank == static_cast<std::size_t>(crew_.rank());
      if (is_mine) place = offset_;
      offset_ += outline.bytes;
      if (outline.first_short_size == 0) continue;
      if (last_short_ == outline.first_short) {
        offset_ -= outline.first_short_size - 1;
        if (is_mine) shrink(wave);
      }
      last_short_ = outline.last_short;
    }
    if (written_.ok()) {
      written_ =
          Crew::attempt([&] { return output_.write_at(place, wave.room.first(used(wave))); });
    }
    return {};
  }

  static void shrink(Wave& wave) {
    const auto bytes = wave.room.first(used(wave)).subspan(wave.first_short_at);
    const auto size = static_cast<std::size_t>(wave.outline.first_short_size);
    bytes[0] = stream::repeat_record()[0];
    std::ranges::copy(bytes.subspan(size), bytes.begin() + 1);
    wave.outline.bytes -= size - 1;
  }

  // All chunks in order: in every wave, those of the first rank, then those of the second ...
  stream::StreamTotals totals_of(std::span<const ChunkOutline> chunks_by_rank) const {
    const auto ranks = static_cast<std::uint64_t>(crew_.size());
    const std::uint64_t waves = wave_count();
    std::vector<std::size_t> next(static_cast<std::size_t>(ranks));
    for (std::uint64_t rank = 0, begin = 0; rank < ranks; ++rank) {
      next[static_cast<std::size_t>(rank)] = static_cast<std::size_t>(begin);
      for (std::uint64_t number = 0; number < waves; ++number) {
        begin += share_of(wave_share(number).count(), rank, ranks).count();
      }
    }
    stream::StreamTotals totals(plan_.opening.size());
    for (std::uint64_t number = 0; number < waves; ++number) {
      for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        const Share share = share_of(wave_share(number).count(), rank, ranks);
        for (std::uint64_t i = 0; i < share.count(); ++i) {
          totals.add(chunks_by_rank[next[static_cast<std::size_t>(rank)]++]);
        }
      }
    }
    return totals;
  }

  Result<StreamInfo> finish() {
    StreamInfo info = stream::info_of(plan_.header, plan_.grid);
    const auto chunks = crew_.gather_to_first(std::span<const ChunkOutline>(chunks_));
    RETURN_IF_ERROR(crew_.first_alone([&]() -> Result<void> {
      stream::StreamTotals totals = totals_of(chunks);
      ENSURE(totals.offset() == offset_);
      info.payload_bytes = totals.payload_bytes();
      TRY(stream::Closing closing, std::move(totals).close());
      info.statistics = std::move(closing.statistics);
      info.bytes_out = offset_ + closing.bytes.size();
      return output_.write_at(offset_, closing.bytes);
    }));
    RETURN_IF_ERROR(output_.finish(info.bytes_out));
    return info;
  }

  const Crew& crew_;
  const stream::StreamPlan& plan_;
  SharedOutput& output_;
  std::array<Wave, 2> waves_;  // one is compressed while the one before waits for its place
  std::uint64_t wave_bytes_;   // what a rank holds of one, as long as one chunk fits
  stream::RecordCompressor records_;
  std::vector<ChunkOutline> chunks_;        // of this rank, in order
  std::uint64_t offset_;                    // where the next wave begins
  std::optional<ShortPayload> last_short_;  // of all ranks, before the next wave
  Result<void> written_;                    // by this rank
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
