// tensorpress model cost: what a training step takes on one or many accelerators, with a plan and
// without.
#include <memory>

#include "base/errors.h"
#include "device/device_files.h"
#include "device/training_report.h"
#include "model/device/workload.h"
#include "model/policy/plan_file.h"
#include "model_arguments.h"

namespace tensorpress::cli {
namespace {

struct Options {
  StepArguments step;
  std::string plan = "off";
  std::string device = "ipu";
  std::size_t count = 1;
  std::string parallel;
  std::size_t micro_batches = 0;
  bool search = false;
  bool json = false;
};

Result<devices::Parallel> parallel_of(const Options& options) {
  constexpr std::pair<const char*, devices::Parallel> kNames[] = {
      {"pipeline", devices::Parallel::pipeline},
      {"data", devices::Parallel::data},
      {"mixed", devices::Parallel::mixed}};
  if (options.parallel.empty() || options.search) return devices::Parallel::any;
  for (const auto& [name, parallel] : kNames) {
    if (options.parallel == name) return parallel;
  }
  return bad_argument("--parallel ", options.parallel, " is not one of pipeline, data, mixed");
}

Result<ExitStatus> run(const Options& options) {
  auto graph = options.step.graph();
  if (!graph.ok()) return show_mistake(std::move(graph).error());
  TRY(const model::StepOptions step, options.step.options(*graph));
  TRY(const model::Policy plan, model::read_plan(options.plan, graph->name));
  TRY(const devices::Device device, open_device(options.device));
  TRY(const devices::Parallel parallel, parallel_of(options));
  TRY(const std::int64_t samples, options.step.samples(*graph));
  const auto batch = static_cast<double>(samples);
  const auto workload = [&](const model::Policy& chosen) -> Result<devices::Workload> {
    TRY(const model::Profile profile, model::profile_step(*graph, chosen, step, {}));
    return model::workload_of(*graph, profile, step, batch);
  };
  TRY(const devices::Workload plain, workload(model::policy_off()));
  TRY(const devices::Workload planned, workload(plan));
  TRY(const auto baseline, training_baseline(device, plain, devices::Stash::where_it_fits));
  const auto split = [&](const devices::Workload& chosen, bool compress) {
    return devices::best_split(device, chosen, options.count, compress, parallel,
                               options.micro_batches);
  };
  const auto found = split(planned, plan.name != "off");
  if (!found.ok() && found.error().code == ErrorCode::too_large) {
    TRY(const model::Policy strongest, model::read_plan("max", graph->name));
    TRY(const devices::Workload packed, workload(strongest));
    const bool packed_fits = split(packed, true).ok();
    print_no_split(
        device, planned,
        found.error().message + (packed_fits ? "; with --plan max this batch would fit" : ""),
        options.json);
    return ExitStatus::check_failed;
  }
  TRY(const devices::TrainingCost cost, found);
  if (options.json) {
    Json json = training_to_json(device, planned, cost, baseline);
    json["plan"] = plan.name;
    print_json(json, stdout);
  } else {
    print_training(device, planned, cost, baseline);
  }
  return ExitStatus::fine;
}

}  // namespace

ModelVerb declare_model_cost(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* const verb =
      app.add_subcommand("cost", "predict a training step on one or many accelerators");
  options->step.declare(*verb);
  verb->add_option("--plan", options->plan,
                   "off, lossless, safe, balanced, max, or a plan in a .json file (off)");
  verb->add_option("--device", options->device, "a name, or a .toml file (ipu)");
  verb->add_option("--ipus,--count", options->count, "devices (1)");
  verb->add_option("--parallel", options->parallel, "pipeline, data or mixed (the fastest)");
  verb->add_option("--micro-batches", options->micro_batches, "of a batch (the best of 1 to 64)")
      ->check(CLI::Range(1, 1 << 30));
  verb->add_flag("--search", options->search, "try every split, whatever --parallel says");
  verb->add_flag("--json", options->json, "print one JSON object");
  return {verb, [options] { return run(*options); }};
}

}  // namespace tensorpress::cli
