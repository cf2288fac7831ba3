// tensorpress model plan: how each activation waits for the backward pass, under a budget.
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/options/force_option.h"
#include "command_line/reports/json_output.h"
#include "device/device_files.h"
#include "files/bytes/text_files.h"
#include "model/planner/planned_file.h"
#include "model_arguments.h"

namespace tensorpress::cli {
namespace {

struct Options {
  StepArguments step;
  std::string peak;
  std::optional<double> ratio;
  std::optional<double> min_score;
  std::optional<double> mean_score;
  std::string minimize = "error";
  std::string offload;
  int fewest_bits = 2;
  std::string output;
  ForceOption force;
  bool json = false;
};

/// GB/s, or a device: its link's slower direction and its speed.
Result<model::HostLink> link_of(const std::string& words) {
  model::HostLink link;
  double speed = 0;
  const char* const end = words.data() + words.size();
  const auto [after, problem] = std::from_chars(words.data(), end, speed);
  if (problem == std::errc() && after == end) {
    if (!(speed > 0 && speed < 1e9)) {
      return bad_argument("--offload is '", words,
                          "'; it is GB/s of the link to the host, above 0");
    }
    link.bytes_per_second = speed * 1e9;
    return link;
  }
  TRY(const devices::Device device, open_device(words));
  const auto& flops = device.training_flops ? device.training_flops : device.f32_flops;
  if (!device.to_device || !device.from_device || !flops) {
    return bad_argument("device '", words,
                        "' does not tell its link to the host and its speed; give --offload GB/s");
  }
  link.bytes_per_second = std::min(device.to_device->value, device.from_device->value);
  link.flops_per_second = flops->value;
  return link;
}

Result<model::Budget> budget_of(const Options& options) {
  model::Budget budget;
  if (!options.peak.empty()) {
    TRY(budget.peak_bytes, parse_bytes(options.peak, "--peak"));
  }
  budget.ratio = options.ratio;
  budget.min_score = options.min_score;
  budget.mean_score = options.mean_score;
  if (!budget.peak_bytes && !budget.ratio && !budget.min_score && !budget.mean_score) {
    return bad_argument(
        "a plan needs a budget: --peak 2GiB, --ratio 12, --min-score 0.9 or "
        "--mean-score 0.9");
  }
  budget.aim =
      options.minimize == "time" ? model::planner::Aim::seconds : model::planner::Aim::error;
  budget.fewest_bits = options.fewest_bits;
  if (!options.offload.empty()) {
    TRY(budget.offload, link_of(options.offload));
  }
  return budget;
}

void print_summary(const model::Graph& graph, const model::PlannedStep& planned) {
  const auto human = [](std::int64_t bytes) {
    return human_bytes(static_cast<std::uint64_t>(bytes));
  };
  const model::StepMemory& memory = planned.memory;
  const auto times = [](std::int64_t plain, std::int64_t now) {
    return rounded(static_cast<double>(plain) / static_cast<double>(std::max<std::int64_t>(now, 1)),
                   3);
  };
  std::map<std::string, int> counts;
  for (const model::Choice& each : planned.choices) ++counts[to_text(each.storing)];
  std::printf("%s: predicted peak %s at %s (plain %s, %s times), saved %s (plain %s, %s times)\n",
              graph.name.c_str(), human(memory.peak_bytes()).c_str(),
              memory.positions[memory.peak].name.c_str(), human(planned.plain_peak_bytes).c_str(),
              times(planned.plain_peak_bytes, memory.peak_bytes()).c_str(),
              human(memory.saved_bytes).c_str(), human(planned.plain_saved_bytes).c_str(),
              times(planned.plain_saved_bytes, memory.saved_bytes).c_str());
  std::printf("added time %s ms, mean score %s, lowest %s, %s\n",
              rounded(1000 * planned.added_seconds, 3).c_str(),
              rounded(planned.mean_score, 4).c_str(), rounded(planned.lowest_score, 4).c_str(),
              planned.proven_best
                  ? "proven best"
                  : text("within ", rounded(100 * planned.gap, 2), " % of the best").c_str());
  for (const auto& [storing, count] : counts) {
    std::printf("  %3d x %s\n", count, storing.c_str());
  }
  if (planned.offloaded_bytes > 0) {
    std::printf("  %s wait in the host's memory\n", human(planned.offloaded_bytes).c_str());
  }
  if (planned.choices.empty()) std::printf("  exact compact forms are enough; no codec is used\n");
}

Result<ExitStatus> run(const Options& options) {
  auto graph = options.step.graph();
  if (!graph.ok()) return show_mistake(std::move(graph).error());
  if (options.json && options.output == "-") {
    return bad_argument("--json and -o - both print the plan; leave out one of them");
  }
  RETURN_IF_ERROR(options.force.check({options.step.file, options.offload, options.step.statistics},
                                      options.output));
  TRY(const model::StepOptions step, options.step.options(*graph));
  TRY(const model::Budget budget, budget_of(options));
  model::Statistics statistics;
  if (!options.step.statistics.empty()) {
    TRY(statistics, model::read_statistics(options.step.statistics));
  }
  TRY(const model::PlannedStep planned, model::plan_step(*graph, step, budget, statistics));
  const std::string json = model::plan_to_json(planned, graph->name, step);
  if (!options.output.empty()) {
    RETURN_IF_ERROR(files::write_text(options.output, json));
  }
  if (options.json || options.output.empty()) {
    std::fputs(json.c_str(), stdout);
  } else if (options.output != "-") {
    print_summary(*graph, planned);
  }
  return ExitStatus::fine;
}

}  // namespace

ModelVerb declare_model_plan(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* const verb = app.add_subcommand(
      "plan", "choose for each activation: keep, a codec and its level, rebuild, or offload");
  options->step.declare(*verb);
  options->step.declare_statistics(*verb);
  verb->add_option("--peak", options->peak, "most memory of the whole step, as 2GiB");
  verb->add_option("--ratio", options->ratio, "saved bytes of autograd over those of the plan");
  verb->add_option("--min-score", options->min_score, "least score of every activation, 0...1");
  verb->add_option("--mean-score", options->mean_score, "least mean score, 0...1");
  verb->add_option("--minimize", options->minimize, "error or time (error)")
      ->check(CLI::IsMember({"time", "error"}));
  verb->add_option("--offload", options->offload,
                   "activations may wait in the host's memory: GB/s of the link, or a device");
  verb->add_option("--fewest-bits", options->fewest_bits,
                   "that a codec may leave of a value: 1, 2, 4 or 8 (2)")
      ->check(CLI::IsMember({1, 2, 4, 8}));
  verb->add_option("-o,--output", options->output, "the plan, a .json file (standard output)");
  options->force.declare(*verb);
  verb->add_flag("--json", options->json, "print the plan instead of a summary");
  return {verb, [options] { return run(*options); }};
}

}  // namespace tensorpress::cli
