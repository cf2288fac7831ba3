// tensorpress wafer offsets: where each PE's words go, and how long a mesh takes to find out.
#include <memory>

#include "base/errors.h"
#include "command_line/options/tensor_options.h"
#include "command_line/reports/json_output.h"
#include "field_options.h"
#include "wafer/programs/offsets/offsets.h"

namespace tensorpress::cli {
namespace {

using wafer::programs::OffsetOrder;
using wafer::programs::OffsetsRun;

struct Options {
  std::string mesh = "100x50";
  std::string order = "auto";
  std::string observer = "origin";
  std::string by = "mesh";
  ThreadsOption threads;
  CalibrationOption calibration;
};

using wafer::programs::OffsetsBy;

struct Asked {
  MeshSize mesh;
  std::optional<OffsetOrder> order;
  OffsetsBy by = OffsetsBy::mesh;
};

Result<Asked> asked_for(const Options& options) {
  Asked asked;
  TRY(asked.mesh, parse_mesh(options.mesh));
  TRY(asked.order, parse_order(options.order));
  if (options.observer != "origin" && options.observer != "makespan") {
    return bad_argument("--observer ", options.observer,
                        "; it is origin (one PE's own counter) or makespan (the whole mesh)");
  }
  if (options.by != "mesh" && options.by != "look-back" && options.by != "host") {
    return bad_argument("--by ", options.by, "; it is mesh or look-back");
  }
  TRY(asked.by, parse_offsets(options.by));
  if (asked.by == OffsetsBy::host) {
    return bad_argument("--by host needs no mesh; it is mesh or look-back");
  }
  return asked;
}

/// As blocks have them: what they are does not change the time.
std::vector<std::uint32_t> lengths_for(const MeshSize& mesh) {
  std::vector<std::uint32_t> lengths;
  for (std::uint64_t i = 0; i < std::uint64_t{mesh.width} * mesh.height; ++i) {
    lengths.push_back(1 + static_cast<std::uint32_t>(i * 2654435761u >> 7) % 33);
  }
  return lengths;
}

Result<void> check(const std::vector<std::uint32_t>& lengths, const OffsetsRun& run) {
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (run.offsets[i] != before) return internal_error("offset ", i, " is wrong");
    before += lengths[i];
  }
  return {};
}

const char* name_of(OffsetOrder order) {
  return order == OffsetOrder::column ? "column" : "row";
}

Json to_json(const Options& options, const OffsetsRun& run) {
  const bool origin = options.observer == "origin";
  const std::uint64_t cycles = origin ? run.origin_cycles : run.makespan_cycles;
  return {{"mesh", options.mesh},
          {"order", name_of(run.order)},
          {"by", options.by},
          {"observer", options.observer},
          {"cycles", cycles},
          {"origin_cycles", run.origin_cycles},
          {"makespan_cycles", run.makespan_cycles},
          {"microseconds", static_cast<double>(cycles) / wafer::kClockHertz * 1e6},
          {"wavelet_hops", run.report.wavelet_hops}};
}

std::string to_text(const Options& options, const Asked& asked, const OffsetsRun& run) {
  const bool origin = options.observer == "origin";
  return text("mesh      ", asked.mesh.width, "x", asked.mesh.height, " (width x height), ",
              name_of(run.order), "-major", asked.order ? "" : " by the paper's rule",
              "\norigin    ", run.origin_cycles, " cycles by the counter of PE (0, 0)",
              asked.by == OffsetsBy::mesh ? ", which is what Table II prints" : "",
              origin ? "" : " (not asked for)", "\nmakespan  ", run.makespan_cycles,
              " cycles until the last PE knows its offset", origin ? "" : " (what was asked for)",
              "\n");
}

Result<Report> run(const Options& options) {
  TRY(const Asked asked, asked_for(options));
  TRY(const auto calibration, options.calibration.calibration());
  const auto lengths = lengths_for(asked.mesh);
  TRY(const OffsetsRun run,
      wafer::programs::run_offsets(
          asked.mesh.width, asked.mesh.height, lengths,
          {.order = asked.order,
           .by = asked.by,
           .run = {.threads = options.threads.threads(), .machine = calibration.machine()}}));
  RETURN_IF_ERROR(check(lengths, run));
  return Report{.text = to_text(options, asked, run), .json = json_text(to_json(options, run))};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("--mesh", options->mesh, "width x height in PEs (100x50)");
  arguments.option("--order", options->order, "column, row, or auto (auto)");
  arguments.option("--observer", options->observer,
                   "whose cycles: origin, one PE's own counter, or makespan (origin)");
  arguments.option("--by", options->by,
                   "reduce and scan on the mesh, or look-back from PE to PE (mesh)");
  options->threads.declare(arguments, 1);
  options->calibration.declare(arguments);
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb wafer_offsets_verb() {
  return {.name = "offsets",
          .summary = "the offset computation by itself (CereSZ-II, Table II)",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
