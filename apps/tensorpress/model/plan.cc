// tensorpress model plan: how each activation waits for the backward pass, under a budget.
#include <charconv>
#include <memory>
#include <optional>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/options/force_option.h"
#include "command_line/reports/formatted.h"
#include "command_line/verb.h"
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

std::string in_words(std::int64_t bytes) {
  return human_bytes(static_cast<std::uint64_t>(bytes));
}

/// " (plain 3 GiB, 2.4 times)": how much it was without a plan.
std::string beside(std::int64_t plain, std::int64_t now) {
  const double times =
      static_cast<double>(plain) / static_cast<double>(std::max<std::int64_t>(now, 1));
  return text(" (plain ", in_words(plain), ", ", rounded(times, 3), " times)");
}

std::string to_text(const model::Graph& graph, const model::PlannedStep& planned) {
  const model::StepMemory& memory = planned.memory;
  std::map<std::string, int> counts;
  for (const model::Choice& each : planned.choices) ++counts[to_text(each.storing)];
  std::string lines =
      text(graph.name, ": predicted peak ", in_words(memory.peak_bytes()), " at ",
           memory.positions[memory.peak].name,
           beside(planned.plain_peak_bytes, memory.peak_bytes()), ", saved ",
           in_words(memory.saved_bytes), beside(planned.plain_saved_bytes, memory.saved_bytes),
           "\nadded time ", rounded(1000 * planned.added_seconds, 3), " ms, mean score ",
           rounded(planned.mean_score, 4), ", lowest ", rounded(planned.lowest_score, 4), ", ",
           planned.proven_best ? "proven best"
                               : text("within ", rounded(100 * planned.gap, 2), " % of the best"),
           "\n");
  for (const auto& [storing, count] : counts) {
    lines += formatted("  %3d x %s\n", count, storing.c_str());
  }
  if (planned.offloaded_bytes > 0) {
    lines += text("  ", in_words(planned.offloaded_bytes), " wait in the host's memory\n");
  }
  if (planned.choices.empty()) lines += "  exact compact forms are enough; no codec is used\n";
  return lines;
}

Result<Report> run(const Arguments& arguments, const Options& options) {
  auto graph = options.step.graph();
  if (!graph.ok()) return report_mistake(std::move(graph).error());
  if (options.output == "-" && arguments.given("--json")) {
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
  std::string json = model::plan_to_json(planned, graph->name, step);
  if (options.output.empty()) return Report{.text = std::move(json)};
  RETURN_IF_ERROR(files::write_text(options.output, json));
  if (options.output == "-") return Report{};
  return Report{.text = to_text(*graph, planned), .json = std::move(json)};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->step.declare(arguments);
  options->step.declare_statistics(arguments);
  arguments.option("--peak", options->peak, "most memory of the whole step, as 2GiB");
  arguments.option("--ratio", options->ratio, "saved bytes of autograd over those of the plan");
  arguments.option("--min-score", options->min_score, "least score of every activation, 0...1");
  arguments.option("--mean-score", options->mean_score, "least mean score, 0...1");
  arguments.option("--minimize", options->minimize, "error or time (error)")
      .one_of(std::vector<std::string>{"time", "error"});
  arguments.option("--offload", options->offload,
                   "activations may wait in the host's memory: GB/s of the link, or a device");
  arguments
      .option("--fewest-bits", options->fewest_bits,
              "that a codec may leave of a value: 1, 2, 3, 4, 5, 6 or 8 (2)")
      .one_of(std::vector<int>{1, 2, 3, 4, 5, 6, 8});
  arguments.option("-o,--output", options->output, "the plan, a .json file (standard output)");
  options->force.declare(arguments);
  return [arguments, options](Reporter&) { return run(arguments, *options); };
}

}  // namespace

Verb model_plan_verb() {
  return {.name = "plan",
          .summary = "choose for each activation: keep, a codec and its level, rebuild, or offload",
          .json = "print the plan instead of a summary",
          .declare = declare};
}

}  // namespace tensorpress::cli
