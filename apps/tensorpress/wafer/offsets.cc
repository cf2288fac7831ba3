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

struct Options {
  std::string mesh = "100x50";
  std::string order = "auto";
  std::string observer = "origin";
  std::string by = "mesh";
  ThreadsOption threads;
  CalibrationOption calibration;
  bool json = false;
};

Result<ExitStatus> run(const Options& options) {
  TRY(const MeshSize mesh, parse_mesh(options.mesh));
  TRY(const auto order, parse_order(options.order));
  if (options.observer != "origin" && options.observer != "makespan") {
    return bad_argument("--observer ", options.observer,
                        "; it is origin (one PE's own counter) or makespan (the whole mesh)");
  }
  if (options.by != "mesh" && options.by != "look-back" && options.by != "host") {
    return bad_argument("--by ", options.by, "; it is mesh or look-back");
  }
  TRY(const auto by, parse_offsets(options.by));
  if (by == wafer::programs::OffsetsBy::host) {
    return bad_argument("--by host needs no mesh; it is mesh or look-back");
  }
  TRY(const auto calibration, options.calibration.calibration());
  // Lengths as blocks have them: what they are does not change the time.
  std::vector<std::uint32_t> lengths;
  for (std::uint64_t i = 0; i < std::uint64_t{mesh.width} * mesh.height; ++i) {
    lengths.push_back(1 + static_cast<std::uint32_t>(i * 2654435761u >> 7) % 33);
  }
  TRY(const auto run, wafer::programs::run_offsets(mesh.width, mesh.height, lengths,
                                                   {.order = order,
                                                    .by = by,
                                                    .run = {.threads = options.threads.threads(),
                                                            .machine = calibration.machine()}}));
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (run.offsets[i] != before) return internal_error("offset ", i, " is wrong");
    before += lengths[i];
  }
  const char* const name = run.order == OffsetOrder::column ? "column" : "row";
  const bool origin = options.observer == "origin";
  const std::uint64_t cycles = origin ? run.origin_cycles : run.makespan_cycles;
  if (options.json) {
    print_json({{"mesh", options.mesh},
                {"order", name},
                {"by", options.by},
                {"observer", options.observer},
                {"cycles", cycles},
                {"origin_cycles", run.origin_cycles},
                {"makespan_cycles", run.makespan_cycles},
                {"microseconds", static_cast<double>(cycles) / wafer::kClockHertz * 1e6},
                {"wavelet_hops", run.report.wavelet_hops}},
               stdout);
    return ExitStatus::fine;
  }
  std::printf("mesh      %ux%u (width x height), %s-major%s\n", mesh.width, mesh.height, name,
              order ? "" : " by the paper's rule");
  std::printf("origin    %llu cycles by the counter of PE (0, 0)%s%s\n",
              static_cast<unsigned long long>(run.origin_cycles),
              by == wafer::programs::OffsetsBy::mesh ? ", which is what Table II prints" : "",
              origin ? "" : " (not asked for)");
  std::printf("makespan  %llu cycles until the last PE knows its offset%s\n",
              static_cast<unsigned long long>(run.makespan_cycles),
              origin ? "" : " (what was asked for)");
  return ExitStatus::fine;
}

}  // namespace

Action declare_wafer_offsets(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--mesh", options->mesh, "width x height in PEs (100x50)");
  app.add_option("--order", options->order, "column, row, or auto (auto)");
  app.add_option("--observer", options->observer,
                 "whose cycles: origin, one PE's own counter, or makespan (origin)");
  app.add_option("--by", options->by,
                 "reduce and scan on the mesh, or look-back from PE to PE (mesh)");
  options->threads.declare(app, 1);
  options->calibration.declare(app);
  app.add_flag("--json", options->json, "print one JSON object");
  return [options] { return run(*options); };
}

}  // namespace tensorpress::cli
