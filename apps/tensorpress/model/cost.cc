// tensorpress model cost: what a training step takes on one or many accelerators, with a plan and
// without.
#include <memory>

#include "base/errors.h"
#include "command_line/verb.h"
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
};

Result<devices::Parallel> parallel_of(const Options& options) {
  if (options.parallel.empty() || options.search) return devices::Parallel::any;
  const auto parallel = devices::parallel_named(options.parallel);
  if (parallel) return *parallel;
  return bad_argument("--parallel ", options.parallel, " is not one of pipeline, data, mixed");
}

Result<Report> run(const Options& options) {
  auto graph = options.step.graph();
  if (!graph.ok()) return report_mistake(std::move(graph).error());
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
    return report_no_split(
        device, planned,
        found.error().message + (packed_fits ? "; with --plan max this batch would fit" : ""));
  }
  TRY(const devices::TrainingCost cost, found);
  const TrainingReport training{device, planned, cost, baseline};
  Json json = to_json(training);
  json["plan"] = plan.name;
  return Report{.text = to_text(training), .json = json_text(json)};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->step.declare(arguments);
  arguments.option("--plan", options->plan,
                   "off, lossless, safe, balanced, max, or a plan in a .json file (off)");
  arguments.option("--device", options->device, "a name, or a .toml file (ipu)");
  arguments.option("--ipus,--count", options->count, "devices (1)");
  arguments.option("--parallel", options->parallel, "pipeline, data or mixed (the fastest)");
  arguments.option("--micro-batches", options->micro_batches, "of a batch (the best of 1 to 64)")
      .between(1, 1 << 30);
  arguments.flag("--search", options->search, "try every split, whatever --parallel says");
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb model_cost_verb() {
  return {.name = "cost",
          .summary = "predict a training step on one or many accelerators",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
