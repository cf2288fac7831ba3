// tensorpress wafer trace: every task and wavelet of a program on a small mesh.
#include <algorithm>
#include <memory>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/options/force_option.h"
#include "command_line/reports/json_output.h"
#include "field_options.h"
#include "report/pages/wafer_pictures.h"
#include "wafer/field/sample_field.h"
#include "wafer/programs/collectives/small_programs.h"
#include "wafer/programs/offsets/offsets.h"

namespace tensorpress::cli {
namespace {

using wafer::programs::Mapping;
using wafer::programs::OffsetsBy;

constexpr double kBound = 1e-3;

struct Options {
  std::string program = "offsets";
  std::string mesh = "4x4";
  std::string order = "auto";
  std::string output = "trace.json";
  std::uint32_t blocks = 1;
  bool decode = false;
  CalibrationOption calibration;
  ForceOption force;
  std::optional<Arguments> arguments;  // know the options that were given
};

Result<std::uint64_t> trace_codec(const Options& options, const MeshSize& mesh, Mapping mapping,
                                  wafer::programs::MeshOptions how,
                                  const wafer::Calibration& calibration) {
  how.width = mesh.width;
  how.height = mesh.height;
  how.mapping = mapping;
  const std::uint32_t places =
      mesh.width / (mapping == Mapping::ceresz_three ? 3 : 1) * mesh.height;
  const auto field = wafer::sample_field(std::max<std::size_t>(places, 1) * options.blocks);
  const auto& book = ceresz2::Codebook::standard();
  wafer::programs::MeshOptions coding = how;
  if (options.decode) coding.inspect = {};
  TRY(const auto coded,
      wafer::programs::compress_on_mesh(field, kBound, book, calibration, coding));
  if (!options.decode) return coded.report.cycles;
  TRY(const auto back, wafer::programs::decompress_on_mesh(coded.payload, field.size(), kBound,
                                                           book, calibration, how));
  return back.report.cycles;
}

Result<std::uint64_t> trace_offsets(const Options& options, const MeshSize& mesh, OffsetsBy by,
                                    const wafer::programs::MeshOptions& how) {
  RETURN_IF_ERROR(options.arguments->refuse_ignored(
      {"--decode", "--blocks"}, text("it is of a codec, and --program is ", options.program)));
  std::vector<std::uint32_t> lengths(std::size_t{mesh.width} * mesh.height);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = static_cast<std::uint32_t>(1 + i % 33);
  }
  TRY(const auto run, wafer::programs::run_offsets(
                          mesh.width, mesh.height, lengths,
                          {.order = how.order, .by = by, .run = how.run, .inspect = how.inspect}));
  return run.report.cycles;
}

Result<std::uint64_t> trace_small(const Options& options, const MeshSize& mesh,
                                  const wafer::programs::SmallProgram& program,
                                  const wafer::programs::MeshOptions& how) {
  RETURN_IF_ERROR(options.arguments->refuse_ignored(
      {"--decode", "--blocks", "--order"},
      text("it is of a codec or of the offset computation, and --program is ", options.program)));
  return program.run(mesh.width, mesh.height, how.run, how.inspect);
}

std::string program_names() {
  std::string names = "offsets, look-back, ceresz2, ceresz, ceresz-3";
  for (const auto& program : wafer::programs::small_programs()) names += text(", ", program.name);
  return names;
}

Result<Report> run(const Options& options) {
  TRY(const MeshSize mesh, parse_mesh(options.mesh));
  constexpr std::uint32_t kMost = 4096, kMostBlocks = 64;
  if (mesh.width * mesh.height > kMost) {
    return bad_argument("a trace of ", options.mesh, " PEs would be too large to look at; up to ",
                        kMost, " PEs");
  }
  if (options.blocks < 1 || options.blocks > kMostBlocks) {
    return bad_argument("--blocks ", options.blocks, " is not in 1..", kMostBlocks);
  }
  RETURN_IF_ERROR(options.force.check({options.calibration.file()}, options.output));
  TRY(const wafer::Calibration calibration, options.calibration.calibration());
  std::string words;
  std::size_t events = 0;
  wafer::programs::MeshOptions how;
  TRY(how.order, parse_order(options.order));
  how.run = {.machine = calibration.machine(), .trace = true};
  how.inspect = [&](const wafer::Layout& layout, const wafer::Report& report) {
    words = report::trace_json(layout, report);
    events = report.trace.size();
  };
  std::uint64_t cycles = 0;
  const auto small = wafer::programs::small_programs();
  const auto named =
      std::ranges::find(small, options.program, &wafer::programs::SmallProgram::name);
  if (named != small.end()) {
    TRY(cycles, trace_small(options, mesh, *named, how));
  } else if (options.program == "offsets" || options.program == "look-back") {
    const OffsetsBy by = options.program == "offsets" ? OffsetsBy::mesh : OffsetsBy::look_back;
    TRY(cycles, trace_offsets(options, mesh, by, how));
  } else {
    const auto mapping = wafer::mapping_named(options.program);
    if (!mapping.ok()) {
      return bad_argument("--program ", options.program, "; there is ", program_names());
    }
    TRY(cycles, trace_codec(options, mesh, *mapping, how, calibration));
  }
  RETURN_IF_ERROR(write_bytes(options.output, std::as_bytes(std::span(words))));
  return Report{.text = text(options.output, ": ", events, " tasks and wavelets in ", cycles,
                             " cycles; open it in ui.perfetto.dev or chrome://tracing\n"),
                .json = json_text({{"output", options.output},
                                   {"program", options.program},
                                   {"events", events},
                                   {"cycles", cycles}})};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->arguments = arguments;
  arguments
      .option("--program", options->program,
              text("on made-up numbers: ", program_names(), " (offsets)"))
      .shown_as("NAME");
  arguments.option("--mesh", options->mesh, "width x height in PEs (4x4)");
  arguments.option("--order", options->order,
                   "of the offset computation: column, row, auto (auto)");
  arguments.option("--blocks", options->blocks, "of each PE, for a codec (1)").shown_as("N");
  arguments.flag("--decode", options->decode, "a codec's decompression");
  arguments.option("-o,--output", options->output, "the trace (trace.json)").shown_as("FILE");
  options->calibration.declare(arguments);
  options->force.declare(arguments);
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb wafer_trace_verb() {
  return {.name = "trace",
          .summary = "tasks and wavelets of a program on a small mesh, for Perfetto",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
